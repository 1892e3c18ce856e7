package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var siteVersion = schema.GroupVersion{Group: "clients.example.dev", Version: "v1"}

// Site is the kind that the manager reconciles; its definition is in sites.yaml.
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              SiteSpec   `json:"spec"`
	Status            SiteStatus `json:"status,omitempty"`
}

type SiteSpec struct {
	Text     string `json:"text"`
	Replicas int32  `json:"replicas,omitempty"`
}

type SiteStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	ConfigMap          string             `json:"configMap,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Site `json:"items"`
}

func (s *Site) DeepCopyObject() runtime.Object {
	copy := *s
	s.ObjectMeta.DeepCopyInto(&copy.ObjectMeta)
	copy.Status.Conditions = nil
	for _, condition := range s.Status.Conditions {
		copy.Status.Conditions = append(copy.Status.Conditions, *condition.DeepCopy())
	}
	return &copy
}

func (l *SiteList) DeepCopyObject() runtime.Object {
	copy := *l
	l.ListMeta.DeepCopyInto(&copy.ListMeta)
	copy.Items = nil
	for i := range l.Items {
		copy.Items = append(copy.Items, *l.Items[i].DeepCopyObject().(*Site))
	}
	return &copy
}

func addSites(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(siteVersion, &Site{}, &SiteList{})
	metav1.AddToGroupVersion(scheme, siteVersion)
}
