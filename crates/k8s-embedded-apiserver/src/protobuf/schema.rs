//! Which number is which field, for the kinds that kubectl sends as protobuf.
//!
//! The numbers are those of the `generated.proto` files of the Kubernetes API. Of a Pod template the fields that
//! `kubectl create deployment` sets are here; of metadata all but `managedFields`.

/// The fields of a message.
pub(super) type Schema = [Field];

/// One field of a message.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub(super) number: u64,
    pub(super) name: &'static str,
    pub(super) shape: Shape,
}

/// How a field is written, and as what it is read.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Text,
    Texts,
    /// Base64 in JSON.
    Bytes,
    /// A number; zero is the same as none.
    Number,
    /// A number; zero was chosen.
    SetNumber,
    /// A truth value; false is the same as none.
    Flag,
    /// A truth value; false was chosen.
    SetFlag,
    Message(&'static Schema),
    Messages(&'static Schema),
    /// Entries of key and value.
    Map(&'static Schema),
    /// A time, which clients leave empty.
    Time,
    NumberOrText,
}

use Shape::{
    Bytes, Flag, Map, Message, Messages, Number, NumberOrText, SetFlag, SetNumber, Text, Texts,
    Time,
};

const fn f(number: u64, name: &'static str, shape: Shape) -> Field {
    Field {
        number,
        name,
        shape,
    }
}

/// The schema of a kind.
pub(super) fn of(kind: &str) -> Option<&'static Schema> {
    match kind {
        "ClusterRole" => Some(CLUSTER_ROLE),
        "ConfigMap" => Some(CONFIG_MAP),
        "DeleteOptions" => Some(DELETE_OPTIONS),
        "Deployment" => Some(DEPLOYMENT),
        "Namespace" => Some(NAMESPACE),
        "Secret" => Some(SECRET),
        "Service" => Some(SERVICE),
        "ServiceAccount" => Some(SERVICE_ACCOUNT),
        _ => None,
    }
}

/// What a body is wrapped in.
pub(super) const ENVELOPE: [Field; 3] = [
    f(1, "typeMeta", Message(TYPE_META)),
    f(2, "raw", Bytes),
    f(4, "contentType", Text),
];
const TYPE_META: &Schema = &[f(1, "apiVersion", Text), f(2, "kind", Text)];
pub(super) const NUMBER_OR_TEXT: [Field; 3] = [
    f(1, "type", Number),
    f(2, "intVal", Number),
    f(3, "strVal", Text),
];
const TEXT_ENTRY: &Schema = &[f(1, "key", Text), f(2, "value", Text)];
const BYTES_ENTRY: &Schema = &[f(1, "key", Text), f(2, "value", Bytes)];

const METADATA: &Schema = &[
    f(1, "name", Text),
    f(2, "generateName", Text),
    f(3, "namespace", Text),
    f(4, "selfLink", Text),
    f(5, "uid", Text),
    f(6, "resourceVersion", Text),
    f(7, "generation", Number),
    f(8, "creationTimestamp", Time),
    f(9, "deletionTimestamp", Time),
    f(10, "deletionGracePeriodSeconds", SetNumber),
    f(11, "labels", Map(TEXT_ENTRY)),
    f(12, "annotations", Map(TEXT_ENTRY)),
    f(13, "ownerReferences", Messages(OWNER)),
    f(14, "finalizers", Texts),
];
const OWNER: &Schema = &[
    f(1, "kind", Text),
    f(3, "name", Text),
    f(4, "uid", Text),
    f(5, "apiVersion", Text),
    f(6, "controller", SetFlag),
    f(7, "blockOwnerDeletion", SetFlag),
];
const LOCAL_REFERENCE: &Schema = &[f(1, "name", Text)];
const REFERENCE: &Schema = &[
    f(1, "kind", Text),
    f(2, "namespace", Text),
    f(3, "name", Text),
    f(4, "uid", Text),
    f(5, "apiVersion", Text),
    f(6, "resourceVersion", Text),
    f(7, "fieldPath", Text),
];

const DELETE_OPTIONS: &Schema = &[
    f(1, "gracePeriodSeconds", SetNumber),
    f(
        2,
        "preconditions",
        Message(&[f(1, "uid", Text), f(2, "resourceVersion", Text)]),
    ),
    f(3, "orphanDependents", SetFlag),
    f(4, "propagationPolicy", Text),
    f(5, "dryRun", Texts),
];
const NAMESPACE: &Schema = &[
    f(1, "metadata", Message(METADATA)),
    f(2, "spec", Message(&[f(1, "finalizers", Texts)])),
    f(3, "status", Message(&[f(1, "phase", Text)])),
];
const CONFIG_MAP: &Schema = &[
    f(1, "metadata", Message(METADATA)),
    f(2, "data", Map(TEXT_ENTRY)),
    f(3, "binaryData", Map(BYTES_ENTRY)),
    f(4, "immutable", SetFlag),
];
const SECRET: &Schema = &[
    f(1, "metadata", Message(METADATA)),
    f(2, "data", Map(BYTES_ENTRY)),
    f(3, "type", Text),
    f(4, "stringData", Map(TEXT_ENTRY)),
    f(5, "immutable", SetFlag),
];
const SERVICE_ACCOUNT: &Schema = &[
    f(1, "metadata", Message(METADATA)),
    f(2, "secrets", Messages(REFERENCE)),
    f(3, "imagePullSecrets", Messages(LOCAL_REFERENCE)),
    f(4, "automountServiceAccountToken", SetFlag),
];

const SERVICE: &Schema = &[
    f(1, "metadata", Message(METADATA)),
    f(2, "spec", Message(SERVICE_SPEC)),
];
const SERVICE_SPEC: &Schema = &[
    f(1, "ports", Messages(SERVICE_PORT)),
    f(2, "selector", Map(TEXT_ENTRY)),
    f(3, "clusterIP", Text),
    f(4, "type", Text),
    f(5, "externalIPs", Texts),
    f(7, "sessionAffinity", Text),
    f(8, "loadBalancerIP", Text),
    f(10, "externalName", Text),
    f(11, "externalTrafficPolicy", Text),
    f(13, "publishNotReadyAddresses", Flag),
    f(17, "ipFamilyPolicy", Text),
    f(18, "clusterIPs", Texts),
    f(19, "ipFamilies", Texts),
];
const SERVICE_PORT: &Schema = &[
    f(1, "name", Text),
    f(2, "protocol", Text),
    f(3, "port", Number),
    f(4, "targetPort", NumberOrText),
    f(5, "nodePort", Number),
    f(6, "appProtocol", Text),
];

const DEPLOYMENT: &Schema = &[
    f(1, "metadata", Message(METADATA)),
    f(2, "spec", Message(DEPLOYMENT_SPEC)),
];
const DEPLOYMENT_SPEC: &Schema = &[
    f(1, "replicas", SetNumber),
    f(2, "selector", Message(SELECTOR)),
    f(
        3,
        "template",
        Message(&[
            f(1, "metadata", Message(METADATA)),
            f(2, "spec", Message(POD_SPEC)),
        ]),
    ),
    f(4, "strategy", Message(STRATEGY)),
    f(5, "minReadySeconds", Number),
    f(6, "revisionHistoryLimit", SetNumber),
    f(7, "paused", Flag),
    f(9, "progressDeadlineSeconds", SetNumber),
];
const SELECTOR: &Schema = &[
    f(1, "matchLabels", Map(TEXT_ENTRY)),
    f(
        2,
        "matchExpressions",
        Messages(&[
            f(1, "key", Text),
            f(2, "operator", Text),
            f(3, "values", Texts),
        ]),
    ),
];
const STRATEGY: &Schema = &[
    f(1, "type", Text),
    f(
        2,
        "rollingUpdate",
        Message(&[
            f(1, "maxUnavailable", NumberOrText),
            f(2, "maxSurge", NumberOrText),
        ]),
    ),
];
const POD_SPEC: &Schema = &[
    f(2, "containers", Messages(CONTAINER)),
    f(3, "restartPolicy", Text),
    f(4, "terminationGracePeriodSeconds", SetNumber),
    f(6, "dnsPolicy", Text),
    f(7, "nodeSelector", Map(TEXT_ENTRY)),
    f(8, "serviceAccountName", Text),
    f(9, "serviceAccount", Text),
    f(15, "imagePullSecrets", Messages(LOCAL_REFERENCE)),
    f(19, "schedulerName", Text),
    f(20, "initContainers", Messages(CONTAINER)),
];
const CONTAINER: &Schema = &[
    f(1, "name", Text),
    f(2, "image", Text),
    f(3, "command", Texts),
    f(4, "args", Texts),
    f(5, "workingDir", Text),
    f(6, "ports", Messages(CONTAINER_PORT)),
    f(
        7,
        "env",
        Messages(&[f(1, "name", Text), f(2, "value", Text)]),
    ),
    f(13, "terminationMessagePath", Text),
    f(14, "imagePullPolicy", Text),
    f(20, "terminationMessagePolicy", Text),
];
const CONTAINER_PORT: &Schema = &[
    f(1, "name", Text),
    f(2, "hostPort", Number),
    f(3, "containerPort", Number),
    f(4, "protocol", Text),
    f(5, "hostIP", Text),
];

const CLUSTER_ROLE: &Schema = &[
    f(1, "metadata", Message(METADATA)),
    f(2, "rules", Messages(RULE)),
];
const RULE: &Schema = &[
    f(1, "verbs", Texts),
    f(2, "apiGroups", Texts),
    f(3, "resources", Texts),
    f(4, "resourceNames", Texts),
    f(5, "nonResourceURLs", Texts),
];
