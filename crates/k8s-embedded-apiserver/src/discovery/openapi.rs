//! OpenAPI v3 documents, one for each group and version.
//!
//! They say which operations there are and that fields are validated by the server, which is what kubectl asks them.
//! The schema of a custom resource is that of its definition.
//! The OpenAPI v2 document has nothing in it. kubectl asks for it where a kind is unknown, and would take its absence
//! for the error.

use k8s_api_schema::openapi;
use serde_json::{Map, Value, json};

use super::groups::storage_version_hash;
use super::{ApiResource, Asked, JSON, Reply, resources_of};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The content type of an OpenAPI v2 document in protocol buffers, which kubectl wants and asks for by an older name.
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

pub(super) fn reply(asked: &Asked<'_>, resources: &[ApiResource]) -> Option<Reply> {
    if asked.path == "/openapi/v2" {
        return Some(version_2(asked.accept));
    }
    let below = asked.path.strip_prefix("/openapi/v3")?;
    if !below.is_empty() && !below.starts_with('/') {
        return None;
    }
    let segments: Vec<&str> = below.split('/').skip(1).collect();
    Some(match segments[..] {
        [] => Reply::Json("text/plain; charset=utf-8", index(resources)),
        ["version"] => Reply::Json(JSON, version_document()),
        ["api"] => Reply::Json(
            JSON,
            root_document("/api/", "core", "getCoreAPIVersions", VERSIONS),
        ),
        ["apis"] => Reply::Json(
            JSON,
            root_document("/apis/", "apis", "getAPIVersions", GROUPS),
        ),
        ["apis", group] => of_group(group, resources),
        ["api", version] => of_version("", version, asked, resources),
        ["apis", group, version] => of_version(group, version, asked, resources),
        _ => Reply::Nothing,
    })
}

/// The type of the answer to `/api`.
const VERSIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.APIVersions";
/// The type of the answer to `/apis`.
const GROUPS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.APIGroupList";
/// The type of the answer to `/apis/GROUP`.
const GROUP: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.APIGroup";

/// The document of a group of built-in kinds: how to ask for its versions.
fn of_group(group: &str, resources: &[ApiResource]) -> Reply {
    let mut known = resources.iter().filter(|resource| !resource.is_custom());
    if group.is_empty() || !known.any(|resource| resource.group == group) {
        return Reply::Nothing;
    }
    let tag = tag(group);
    let operation = format!("get{}APIGroup", capital(&tag));
    Reply::Json(
        JSON,
        root_document(&format!("/apis/{group}/"), &tag, &operation, GROUP),
    )
}

/// The name of a group in operations: without the domain that the groups of Kubernetes share.
fn tag(group: &str) -> String {
    let short = group.strip_suffix(".k8s.io").unwrap_or(group);
    let mut words = short.split('.');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |tag, word| tag + &capital(word))
}

/// A document with one path, whose answer has one type.
fn root_document(path: &str, tag: &str, operation: &str, answer: &str) -> Value {
    let reference = json!({"schema": {"$ref": format!("#/components/schemas/{answer}")}});
    let what = match answer {
        GROUP => "get information of a group",
        _ => "get available API versions",
    };
    let mut paths = Map::new();
    paths.insert(
        path.into(),
        json!({"get": {
            "description": what,
            "operationId": operation,
            "responses": {
                "200": {
                    "description": "OK",
                    "content": {
                        JSON: reference,
                        "application/vnd.kubernetes.protobuf": reference,
                        "application/yaml": reference,
                    },
                },
                "401": {"description": "Unauthorized"},
            },
            "tags": [tag],
        }}),
    );
    envelope(&paths, &openapi::of_type(answer))
}

/// The document of a version; who asks for an older one by its hash is sent to the newest.
fn of_version(group: &str, version: &str, asked: &Asked<'_>, resources: &[ApiResource]) -> Reply {
    let Some(document) = document(group, version, resources) else {
        return Reply::Nothing;
    };
    let newest = hash(&resources_of(group, version, resources));
    let query = form_urlencoded::parse(asked.query.unwrap_or_default().as_bytes());
    let wanted = query.into_iter().find(|(key, _)| key == "hash");
    match wanted {
        Some((_, wanted)) if !wanted.is_empty() && wanted != newest => {
            Reply::Moved(format!("{}?hash={newest}", asked.path))
        }
        _ => Reply::Json(JSON, document),
    }
}

/// Changes with what a document is made of, so that clients may keep it.
fn hash(of_version: &[&ApiResource]) -> String {
    let hash = of_version.iter().fold(0_u64, |hash, resource| {
        let schema = resource
            .schema
            .as_ref()
            .map(Value::to_string)
            .unwrap_or_default();
        let text = format!(
            "{}{}{schema}",
            storage_version_hash(resource),
            resource.plural
        );
        text.bytes().fold(hash, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    });
    format!("{hash:016X}")
}

fn version_2(accept: &str) -> Reply {
    if !accept.contains("proto-openapi") {
        let info = json!({"title": "Kubernetes", "version": "v1.37.2"});
        return Reply::Json(JSON, json!({"swagger": "2.0", "info": info, "paths": {}}));
    }
    // Messages of short texts: number and type of a field, its length, its content.
    let text = |number: u8, text: &[u8]| {
        let length = u8::try_from(text.len()).unwrap_or_default();
        [&[number << 3 | 2, length], text].concat()
    };
    let info = [text(1, b"Kubernetes"), text(2, b"v1.37.2")].concat();
    let document = [text(1, b"2.0"), text(2, &info)].concat();
    Reply::Protobuf(V2_PROTOBUF, document)
}

fn index(resources: &[ApiResource]) -> Value {
    let mut paths = Map::new();
    for resource in resources {
        let path = path_of(resource);
        let of_version = resources_of(&resource.group, &resource.version, resources);
        let hash = hash(&of_version);
        let url = format!("/openapi/v3/{path}?hash={hash}");
        paths.insert(path, json!({ "serverRelativeURL": url }));
    }
    let groups = resources
        .iter()
        .filter(|resource| !resource.is_custom() && !resource.group.is_empty())
        .map(|resource| format!("apis/{}", resource.group));
    for path in groups.chain(["api", "apis", "version"].map(Into::into)) {
        let url = json!({"serverRelativeURL": format!("/openapi/v3/{path}")});
        paths.insert(path, url);
    }
    json!({ "paths": paths })
}

fn path_of(resource: &ApiResource) -> String {
    if resource.group.is_empty() {
        format!("api/{}", resource.version)
    } else {
        format!("apis/{}/{}", resource.group, resource.version)
    }
}

fn envelope(paths: &Map<String, Value>, schemas: &Map<String, Value>) -> Value {
    let bearer = json!({
        "type": "apiKey",
        "in": "header",
        "name": "authorization",
        "description": "Bearer Token authentication",
    });
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "1.37"},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"BearerToken": bearer}},
    })
}

/// The envelope of the documents of custom kinds.
fn custom_envelope(paths: &Map<String, Value>, schemas: &Map<String, Value>) -> Value {
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"},
        "paths": paths,
        "components": {"schemas": schemas},
    })
}

fn version_document() -> Value {
    let mut paths = Map::new();
    paths.insert(
        "/version/".into(),
        json!({"get": {"operationId": "getCodeVersion", "tags": ["version"], "responses": {"200": {"description": "OK"}}}}),
    );
    envelope(&paths, &Map::new())
}

fn document(group: &str, version: &str, resources: &[ApiResource]) -> Option<Value> {
    let found = resources_of(group, version, resources);
    if found.is_empty() {
        return None;
    }
    let is_custom = found.iter().all(|resource| resource.is_custom());
    let mut paths = Map::new();
    let mut schemas = Map::new();
    schemas.extend(openapi::components(group, version));
    schemas.extend(openapi::of_type(OBJECT_META));
    for resource in found {
        let name = schema_name(resource);
        if !schemas.contains_key(&name) {
            schemas.insert(name, schema(resource));
        }
        let scope = if resource.namespaced {
            "namespaces/{namespace}/"
        } else {
            ""
        };
        let collection = format!("/{}/{scope}{}", path_of(resource), resource.plural);
        paths.insert(
            format!("{collection}/{{name}}"),
            object_operations(resource),
        );
        paths.insert(collection, collection_operations(resource));
    }
    Some(if is_custom {
        custom_envelope(&paths, &schemas)
    } else {
        envelope(&paths, &schemas)
    })
}

fn schema_name(resource: &ApiResource) -> String {
    if !resource.is_custom()
        && let Some(name) = openapi::name_of(&resource.group, &resource.version, &resource.kind)
    {
        return name.to_owned();
    }
    let prefix = match resource.group.as_str() {
        "" => "io.k8s.api.core".to_owned(),
        group if resource.is_custom() => group.rsplit('.').collect::<Vec<_>>().join("."),
        group => format!("io.k8s.api.{}", group.split('.').next().unwrap_or_default()),
    };
    format!("{prefix}.{}.{}", resource.version, resource.kind)
}

fn schema(resource: &ApiResource) -> Value {
    let mut schema = resource
        .schema
        .clone()
        .filter(Value::is_object)
        .unwrap_or_else(|| json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}));
    schema["x-kubernetes-group-version-kind"] = json!([gvk(resource)]);
    let text = json!({"type": "string"});
    for (field, value) in [
        ("apiVersion", text.clone()),
        ("kind", text),
        (
            "metadata",
            json!({"allOf": [{"$ref": format!("#/components/schemas/{OBJECT_META}")}], "default": {}}),
        ),
    ] {
        schema["properties"][field] = value;
    }
    schema
}

fn gvk(resource: &ApiResource) -> Value {
    json!({"group": resource.group, "version": resource.version, "kind": resource.kind})
}

fn operation(resource: &ApiResource, action: &str) -> Value {
    let reference = json!({"$ref": format!("#/components/schemas/{}", schema_name(resource))});
    json!({
        "operationId": format!("{action}{}{}{}", capital(&resource.group), capital(&resource.version), resource.kind),
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": gvk(resource),
        "responses": {"200": {"description": "OK", "content": {JSON: {"schema": reference}}}},
    })
}

fn capital(text: &str) -> String {
    text.split(['.', '-'])
        .map(|word| {
            word.chars()
                .take(1)
                .flat_map(char::to_uppercase)
                .chain(word.chars().skip(1))
                .collect::<String>()
        })
        .collect()
}

fn collection_operations(resource: &ApiResource) -> Value {
    let mut create = operation(resource, "post");
    create["parameters"] = writing_parameters();
    json!({"get": operation(resource, "list"), "post": create})
}

fn object_operations(resource: &ApiResource) -> Value {
    let mut patch = operation(resource, "patch");
    patch["parameters"] = writing_parameters();
    let body = json!({"schema": {"type": "object"}});
    let mut content = json!({
        "application/json-patch+json": body,
        "application/merge-patch+json": body,
        "application/apply-patch+yaml": body,
    });
    if !resource.is_custom() {
        content["application/strategic-merge-patch+json"] = body;
    }
    patch["requestBody"] = json!({ "content": content });
    let mut replace = operation(resource, "put");
    replace["parameters"] = writing_parameters();
    json!({
        "get": operation(resource, "get"),
        "put": replace,
        "patch": patch,
        "delete": operation(resource, "delete"),
    })
}

fn writing_parameters() -> Value {
    let parameters: Vec<Value> = ["dryRun", "fieldManager", "fieldValidation"]
        .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}}))
        .into();
    parameters.into()
}
