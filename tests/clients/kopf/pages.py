"""A kopf operator that reconciles Pages: of each it makes a ConfigMap, and it writes status, finalizer and events.

Run as `kopf run --standalone --namespace NAMESPACE pages.py`, with KUBECONFIG. Ends on SIGTERM.
"""

import os

import kopf
import kubernetes

PAGES = ("clients.example.dev", "v1", "pages")

kubernetes.config.load_kube_config(os.environ["KUBECONFIG"])
core = kubernetes.client.CoreV1Api()


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_):
    settings.persistence.finalizer = "clients.example.dev/outside"
    settings.watching.server_timeout = 60
    settings.networking.request_timeout = 30


@kopf.on.create(*PAGES)
def create(spec, name, namespace, body, patch, meta, **_):
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-text"},
        "data": {"text": spec["text"]},
    }
    kopf.adopt(config_map)
    core.create_namespaced_config_map(namespace, config_map)
    outside = {"metadata": {"name": f"{name}-outside"}}
    core.create_namespaced_config_map(namespace, outside)
    kopf.info(body, reason="Converged", message=f"made of {spec['text']}")
    patch.status["observedGeneration"] = meta["generation"]
    return {"configMap": f"{name}-text"}


@kopf.on.update(*PAGES, field="spec.text")
def update(old, new, name, namespace, body, patch, meta, **_):
    core.patch_namespaced_config_map(f"{name}-text", namespace, {"data": {"text": new}})
    kopf.info(body, reason="Converged", message=f"{old} became {new}")
    patch.status["observedGeneration"] = meta["generation"]


@kopf.on.field(*PAGES, field="metadata.labels")
def labels(new, patch, **_):
    patch.status["labels"] = sorted(new or {})


@kopf.on.delete(*PAGES)
def delete(name, namespace, **_):
    core.delete_namespaced_config_map(f"{name}-outside", namespace)
