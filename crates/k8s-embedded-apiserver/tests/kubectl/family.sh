# A ConfigMap and one that it owns.
kubectl create configmap parent
uid=$(kubectl get configmap parent -o 'jsonpath={.metadata.uid}')
kubectl create -f - <<END
apiVersion: v1
kind: ConfigMap
metadata:
  name: child
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: parent, uid: $uid, blockOwnerDeletion: true}]
END
