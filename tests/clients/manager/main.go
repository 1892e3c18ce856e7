// A controller-runtime manager that reconciles Sites: of each it makes a ConfigMap (written whole) and a Deployment
// (applied on the server), and writes status, finalizer and events. Ends on SIGTERM.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	applyapps "k8s.io/client-go/applyconfigurations/apps/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
)

const (
	finalizer = "clients.example.dev/outside"
	owner     = client.FieldOwner("site-controller")
)

func main() {
	kubeconfig := flag.String("config", "", "path of a kubeconfig")
	namespace := flag.String("namespace", "", "namespace of the Sites and of the lease")
	flag.Parse()
	if err := run(*kubeconfig, *namespace); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(kubeconfig, namespace string) error {
	ctrl.SetLogger(zap.New())
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	addSites(scheme)
	lease, deadline, retry := 4*time.Second, 3*time.Second, 500*time.Millisecond
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics:                       server.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "site-controller",
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease,
		RenewDeadline:                 &deadline,
		RetryPeriod:                   &retry,
	})
	if err != nil {
		return err
	}
	reconciler := &siteReconciler{Client: manager.GetClient(), recorder: manager.GetEventRecorder("site-controller")}
	err = ctrl.NewControllerManagedBy(manager).
		For(&Site{}).
		Owns(&corev1.ConfigMap{}).
		Owns(&appsv1.Deployment{}).
		Complete(reconciler)
	if err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

type siteReconciler struct {
	client.Client
	recorder recorder.EventRecorder
}

func (r *siteReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	site := &Site{}
	if err := r.Get(ctx, request.NamespacedName, site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !site.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.cleanup(ctx, site)
	}
	if controllerutil.AddFinalizer(site, finalizer) {
		return ctrl.Result{}, r.Update(ctx, site)
	}
	configMap, err := r.configMap(ctx, site)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.outside(ctx, site); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.Apply(ctx, deployment(site), owner, client.ForceOwnership); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.status(ctx, site, configMap)
}

// A ConfigMap that the Site owns: written whole, and only when it differs.
func (r *siteReconciler) configMap(ctx context.Context, site *Site) (string, error) {
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: site.Name + "-text", Namespace: site.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, configMap, func() error {
		configMap.Data = map[string]string{"text": site.Spec.Text}
		return controllerutil.SetControllerReference(site, configMap, r.Scheme())
	})
	return configMap.Name, err
}

// A ConfigMap that nobody owns, so that the finalizer has something to clean up.
func (r *siteReconciler) outside(ctx context.Context, site *Site) error {
	outside := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: site.Name + "-outside", Namespace: site.Namespace}}
	err := r.Create(ctx, outside)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// A Deployment that the Site owns, for server-side apply.
func deployment(site *Site) *applyapps.DeploymentApplyConfiguration {
	labels := map[string]string{"site": site.Name}
	container := applycore.Container().WithName("web").WithImage("registry.example.dev/web:1").
		WithEnv(applycore.EnvVar().WithName("TEXT").WithValue(site.Spec.Text)).
		WithPorts(applycore.ContainerPort().WithContainerPort(8080))
	reference := applymeta.OwnerReference().WithAPIVersion(siteVersion.String()).WithKind("Site").
		WithName(site.Name).WithUID(site.UID).WithController(true).WithBlockOwnerDeletion(true)
	return applyapps.Deployment(site.Name+"-web", site.Namespace).
		WithOwnerReferences(reference).
		WithSpec(applyapps.DeploymentSpec().
			WithReplicas(site.Spec.Replicas).
			WithSelector(applymeta.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(applycore.PodTemplateSpec().
				WithLabels(labels).
				WithSpec(applycore.PodSpec().WithContainers(container))))
}

func (r *siteReconciler) status(ctx context.Context, site *Site, configMap string) error {
	before := site.DeepCopyObject().(*Site)
	site.Status.ObservedGeneration = site.Generation
	site.Status.ConfigMap = configMap
	changed := meta.SetStatusCondition(&site.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Converged",
		Message: site.Spec.Text, ObservedGeneration: site.Generation,
	})
	if !changed && before.Status.ObservedGeneration == site.Generation {
		return nil
	}
	// The first time whole, later as a patch: a client may do either.
	var err error
	if before.Status.ObservedGeneration == 0 {
		err = r.Status().Update(ctx, site)
	} else {
		err = r.Status().Patch(ctx, site, client.MergeFrom(before))
	}
	if err != nil {
		return err
	}
	r.recorder.Eventf(site, nil, corev1.EventTypeNormal, "Converged", "Reconcile", "generation %d: %s", site.Generation, site.Spec.Text)
	return nil
}

func (r *siteReconciler) cleanup(ctx context.Context, site *Site) error {
	if !controllerutil.ContainsFinalizer(site, finalizer) {
		return nil
	}
	outside := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: site.Name + "-outside", Namespace: site.Namespace}}
	if err := client.IgnoreNotFound(r.Delete(ctx, outside)); err != nil {
		return err
	}
	before := site.DeepCopyObject().(*Site)
	controllerutil.RemoveFinalizer(site, finalizer)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.Patch(ctx, site, patch))
}
