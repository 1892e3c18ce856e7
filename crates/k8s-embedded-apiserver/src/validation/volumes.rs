//! Volumes of a Pod.

use std::collections::BTreeSet;

use serde_json::Value;

use super::environment::{FILE_FIELDS, field_ref, resource_ref};
use super::names;
use super::path::{Errors, Path, has, int, list, text};
use super::resources::quantity;

const FILE_MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";
const DIRECTORY_MODE: &str = "must be a number between 0 and 01777 (octal), both inclusive";

/// Kinds of volumes in the order in which they are looked for, with the fields that must not be empty.
const SOURCES: &[(&str, &[&str])] = &[
    ("emptyDir", &[]),
    ("hostPath", &["path"]),
    ("gitRepo", &["repository"]),
    ("gcePersistentDisk", &["pdName"]),
    ("awsElasticBlockStore", &["volumeID"]),
    ("secret", &["secretName"]),
    ("nfs", &["server", "path"]),
    ("iscsi", &["targetPortal", "iqn"]),
    ("glusterfs", &["endpoints", "path"]),
    ("flocker", &[]),
    ("persistentVolumeClaim", &["claimName"]),
    ("rbd", &["image"]),
    ("cinder", &["volumeID"]),
    ("cephfs", &[]),
    ("quobyte", &["registry", "volume"]),
    ("downwardAPI", &[]),
    ("fc", &[]),
    ("flexVolume", &["driver"]),
    ("configMap", &["name"]),
    ("azureFile", &["secretName", "shareName"]),
    ("vsphereVolume", &["volumePath"]),
    ("photonPersistentDisk", &["pdID"]),
    ("portworxVolume", &["volumeID"]),
    ("azureDisk", &["diskName", "diskURI"]),
    ("storageos", &["volumeName"]),
    ("scaleIO", &["gateway", "system", "volumeName"]),
    ("projected", &[]),
    ("csi", &["driver"]),
    ("ephemeral", &[]),
    ("image", &["reference"]),
];

/// Checks the volumes; gives back those that can be mounted.
pub(super) fn volumes<'v>(
    path: Path<'_>,
    spec: &'v Value,
    pod_name: &str,
    errors: &mut Errors,
) -> Vec<&'v Value> {
    let all = list(spec, "volumes");
    let created: BTreeSet<String> = all
        .iter()
        .filter(|volume| !pod_name.is_empty() && has(volume, "ephemeral"))
        .map(|volume| format!("{pod_name}-{}", text(volume, "name")))
        .collect();
    let mut good: Vec<&Value> = Vec::new();
    for (index, volume) in all.iter().enumerate() {
        let path = path.index(index);
        let before = errors.0.len();
        source(path, volume, errors);
        let name = text(volume, "name");
        if name.is_empty() {
            errors.required(path.child("name"), "");
        } else {
            errors.faults(path.child("name"), name, names::label_1123(name));
        }
        if good.iter().any(|other| text(other, "name") == name) {
            errors.duplicate(path.child("name"), name);
        }
        if errors.0.len() == before {
            good.push(volume);
        }
        let claim = text(&volume["persistentVolumeClaim"], "claimName");
        if created.contains(claim) {
            let at = path.child("persistentVolumeClaim");
            errors.invalid(
                at.child("claimName"),
                claim,
                "must not reference a PVC that gets created for an ephemeral volume",
            );
        }
    }
    good
}

fn source(path: Path<'_>, volume: &Value, errors: &mut Errors) {
    let mut found = false;
    for (kind, required) in SOURCES {
        if !has(volume, kind) {
            continue;
        }
        let at = path.child(kind);
        if found {
            errors.forbidden(at, "may not specify more than 1 volume type");
            continue;
        }
        found = true;
        let source = &volume[*kind];
        for field in *required {
            if text(source, field).is_empty() {
                errors.required(at.child(field), "");
            }
        }
        details(at, kind, source, errors);
    }
    if !found {
        errors.required(path, "must specify a volume type");
    }
}

fn details(path: Path<'_>, kind: &str, source: &Value, errors: &mut Errors) {
    match kind {
        "emptyDir" => {
            if quantity(&source["sizeLimit"]).is_some_and(|limit| limit.is_negative()) {
                errors.forbidden(
                    path.child("sizeLimit"),
                    "SizeLimit field must be a valid resource quantity",
                );
            }
            let mode = int(source, "mode");
            if let Some(mode) = mode.filter(|mode| !(0..=0o1777).contains(mode)) {
                errors.invalid(path.child("mode"), mode, DIRECTORY_MODE);
            }
        }
        "hostPath" if !text(source, "path").is_empty() => host_path(path, source, errors),
        "secret" | "configMap" => {
            mode(
                path.child("defaultMode"),
                int(source, "defaultMode"),
                errors,
            );
            items(path, source, errors);
        }
        "downwardAPI" => {
            mode(
                path.child("defaultMode"),
                int(source, "defaultMode"),
                errors,
            );
            for file in list(source, "items") {
                self::file(path, file, errors);
            }
        }
        "projected" => {
            mode(
                path.child("defaultMode"),
                int(source, "defaultMode"),
                errors,
            );
            projections(path, source, errors);
        }
        "nfs" => {
            let place = text(source, "path");
            if !place.is_empty() && !place.starts_with('/') {
                errors.invalid(path.child("path"), place, "must be an absolute path");
            }
        }
        "image" => errors.one_of(
            path.child("pullPolicy"),
            text(source, "pullPolicy"),
            &["Always", "IfNotPresent", "Never"],
        ),
        "ephemeral" if !has(source, "volumeClaimTemplate") => {
            errors.required(path.child("volumeClaimTemplate"), "");
        }
        _ => {}
    }
}

/// A path of the host, which may not be missing.
pub(super) fn host_path(path: Path<'_>, source: &Value, errors: &mut Errors) {
    no_steps_back(path.child("path"), text(source, "path"), errors);
    host_path_type(path.child("type"), text(source, "type"), errors);
}

fn host_path_type(path: Path<'_>, kind: &str, errors: &mut Errors) {
    const TYPES: &[&str] = &[
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    errors.one_of_or_empty(path, kind, TYPES);
}

fn mode(path: Path<'_>, mode: Option<i64>, errors: &mut Errors) {
    if let Some(mode) = mode.filter(|mode| !(0..=0o777).contains(mode)) {
        errors.invalid(path, mode, FILE_MODE);
    }
}

fn items(path: Path<'_>, source: &Value, errors: &mut Errors) {
    let items = path.child("items");
    for (index, item) in list(source, "items").iter().enumerate() {
        let path = items.index(index);
        for field in ["key", "path"] {
            if text(item, field).is_empty() {
                errors.required(path.child(field), "");
            }
        }
        file_path(path.child("path"), text(item, "path"), errors);
        mode(path.child("mode"), int(item, "mode"), errors);
    }
}

/// A file of downward API. Its errors are those of the whole list.
fn file(path: Path<'_>, file: &Value, errors: &mut Errors) {
    let name = text(file, "path");
    if name.is_empty() {
        errors.required(path.child("path"), "");
    }
    file_path(path.child("path"), name, errors);
    if has(file, "fieldRef") {
        field_ref(
            path.child("fieldRef"),
            &file["fieldRef"],
            FILE_FIELDS,
            errors,
        );
        if has(file, "resourceFieldRef") {
            errors.invalid(
                path,
                "resource",
                "fieldRef and resourceFieldRef can not be specified simultaneously",
            );
        }
    } else if has(file, "resourceFieldRef") {
        let found = &file["resourceFieldRef"];
        resource_ref(path.child("resourceFieldRef"), found, true, errors);
    } else {
        errors.required(path, "one of fieldRef and resourceFieldRef is required");
    }
    mode(path.child("mode"), int(file, "mode"), errors);
}

fn projections(path: Path<'_>, source: &Value, errors: &mut Errors) {
    let mut paths: BTreeSet<&str> = BTreeSet::new();
    let sources = path.child("sources");
    for (index, source) in list(source, "sources").iter().enumerate() {
        let at = sources.index(index);
        let mut kinds = 0;
        for kind in ["secret", "configMap", "downwardAPI"] {
            if !has(source, kind) {
                continue;
            }
            kinds += 1;
            let (at, source) = (at.child(kind), &source[kind]);
            if kind == "downwardAPI" {
                for file in list(source, "items") {
                    self::file(at, file, errors);
                }
            } else {
                if text(source, "name").is_empty() {
                    errors.required(at.child("name"), "");
                }
                items(at, source, errors);
            }
            for item in list(source, "items") {
                let file = text(item, "path");
                if !file.is_empty() && !paths.insert(file) {
                    let name = if kind == "downwardAPI" {
                        file
                    } else {
                        text(source, "name")
                    };
                    errors.invalid(path, name, "conflicting duplicate paths");
                }
            }
        }
        if has(source, "serviceAccountToken") {
            kinds += 1;
            token(
                path,
                at.child("serviceAccountToken"),
                &source["serviceAccountToken"],
                errors,
            );
        }
        kinds += ["clusterTrustBundle", "podCertificate"]
            .iter()
            .filter(|kind| has(source, kind))
            .count();
        if kinds > 1 {
            errors.forbidden(at, "may not specify more than 1 volume type");
        }
    }
}

fn token(volume: Path<'_>, path: Path<'_>, token: &Value, errors: &mut Errors) {
    let seconds = int(token, "expirationSeconds").unwrap_or(0);
    if seconds < 600 {
        errors.invalid(
            path.child("expirationSeconds"),
            seconds,
            "may not specify a duration less than 10 minutes",
        );
    }
    if seconds > 1 << 32 {
        errors.invalid(
            path.child("expirationSeconds"),
            seconds,
            "may not specify a duration larger than 2^32 seconds",
        );
    }
    let file = text(token, "path");
    if file.is_empty() {
        errors.required(volume.child("path"), "");
    } else {
        file_path(volume.child("path"), file, errors);
    }
}

/// A path below the place of the volume.
fn file_path(path: Path<'_>, file: &str, errors: &mut Errors) {
    descending(path, file, errors);
    if file.starts_with("..") && !file.starts_with("../") {
        errors.invalid(path, file, "must not start with '..'");
    }
}

/// A relative path that does not lead out.
pub(super) fn descending(path: Path<'_>, file: &str, errors: &mut Errors) {
    if file.starts_with('/') {
        errors.invalid(path, file, "must be a relative path");
    }
    no_steps_back(path, file, errors);
}

fn no_steps_back(path: Path<'_>, file: &str, errors: &mut Errors) {
    if file.split('/').any(|part| part == "..") {
        errors.invalid(path, file, "must not contain '..'");
    }
}
