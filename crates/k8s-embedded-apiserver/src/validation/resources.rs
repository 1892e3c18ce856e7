//! What a container or a Pod asks for.

use k8s_api_schema::Quantity;
use serde_json::Value;

use super::names;
use super::path::{Errors, Path, entries, list, text};
use super::quota;

/// Resources of the server's own that a container can have.
const OF_CONTAINERS: &[&str] = &["cpu", "memory", "ephemeral-storage"];
const HUGE_PAGES: &str = "hugepages-";

/// Whose resources they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Container,
    Pod,
}

pub(super) fn requirements(
    path: Path<'_>,
    resources: &Value,
    of: Of,
    claims: &[&str],
    errors: &mut Errors,
) {
    let (limits, requests) = (path.child("limits"), path.child("requests"));
    for (resource, amount) in entries(resources, "limits") {
        one(limits.key(resource), resource, amount, of, errors);
    }
    for (resource, amount) in entries(resources, "requests") {
        one(requests.key(resource), resource, amount, of, errors);
        let limit = resources["limits"].get(resource);
        let (Some(request), limit) = (quantity(amount), limit.and_then(quantity)) else {
            continue;
        };
        match limit {
            Some(limit) if request != limit && !may_overcommit(resource) => errors.invalid(
                requests,
                request.to_string(),
                format!("must be equal to {resource} limit of {limit}"),
            ),
            Some(limit) if request > limit => errors.invalid(
                requests,
                request.to_string(),
                format!("must be less than or equal to {resource} limit of {limit}"),
            ),
            None if !may_overcommit(resource) => {
                errors.required(limits, "Limit must be set for non overcommitable resources");
            }
            _ => {}
        }
    }
    let named = |wanted: &dyn Fn(&str) -> bool| {
        entries(resources, "limits")
            .chain(entries(resources, "requests"))
            .any(|(resource, _)| wanted(resource))
    };
    if named(&|resource| resource.starts_with(HUGE_PAGES))
        && !named(&|resource| matches!(resource, "cpu" | "memory"))
    {
        errors.forbidden(path, "HugePages require cpu or memory");
    }
    claim_names(path.child("claims"), resources, claims, errors);
}

fn claim_names(path: Path<'_>, resources: &Value, claims: &[&str], errors: &mut Errors) {
    let mut seen: Vec<&str> = Vec::new();
    for (index, claim) in list(resources, "claims").iter().enumerate() {
        let name = text(claim, "name");
        if name.is_empty() {
            errors.required(path.index(index), "");
            continue;
        }
        if seen.contains(&name) {
            errors.duplicate(path.index(index), name);
        }
        seen.push(name);
        if !claims.contains(&name) {
            errors.not_found(path.index(index), name);
        }
    }
}

pub(super) fn quantity(amount: &Value) -> Option<Quantity> {
    amount.as_str()?.parse().ok()
}

fn one(path: Path<'_>, resource: &str, amount: &Value, of: Of, errors: &mut Errors) {
    let before = errors.0.len();
    match of {
        Of::Container => container_resource(path, resource, errors),
        Of::Pod => {
            standard(path, resource, errors);
            if errors.0.len() == before
                && !matches!(resource, "cpu" | "memory")
                && !resource.starts_with(HUGE_PAGES)
            {
                errors.not_supported(path, resource, &["cpu", "hugepages-", "memory"]);
            }
        }
    }
    let Some(amount) = quantity(amount) else {
        return;
    };
    not_negative(path, amount, errors);
    if is_extended(resource) && !amount.is_whole() {
        errors.invalid(path, amount.to_string(), "must be an integer");
    }
    if let Some(size) = resource.strip_prefix(HUGE_PAGES) {
        let divisible = size
            .parse::<Quantity>()
            .is_ok_and(|size| size.value() > 0 && amount.value() % size.value() == 0);
        if !divisible {
            let why = format!("{amount} is not positive integer multiple of {resource}");
            errors.invalid(path, amount.to_string(), why);
        }
    }
}

pub(super) fn not_negative(path: Path<'_>, amount: Quantity, errors: &mut Errors) {
    if amount.is_negative() {
        errors.invalid(
            path,
            amount.to_string(),
            "must be greater than or equal to 0",
        );
    }
}

fn standard(path: Path<'_>, resource: &str, errors: &mut Errors) {
    let faults = names::label_key(resource);
    if !faults.is_empty() {
        errors.faults(path, resource, faults);
    } else if !resource.contains('/')
        && resource != "storage"
        && !quota::RESOURCES.contains(&resource)
        && !resource.starts_with(HUGE_PAGES)
    {
        errors.invalid(
            path,
            resource,
            "must be a standard resource type or fully qualified",
        );
    }
}

/// The name of a resource that a container can have.
pub(super) fn container_resource(path: Path<'_>, resource: &str, errors: &mut Errors) {
    standard(path, resource, errors);
    if !resource.contains('/') {
        if !OF_CONTAINERS.contains(&resource) && !resource.starts_with(HUGE_PAGES) {
            errors.invalid(path, resource, "must be a standard resource for containers");
        }
    } else if !is_native(resource) && !is_extended(resource) {
        errors.invalid(
            path,
            resource,
            "doesn't follow extended resource name standard",
        );
    }
}

fn is_native(resource: &str) -> bool {
    !resource.contains('/') || resource.contains("kubernetes.io/")
}

fn is_extended(resource: &str) -> bool {
    !is_native(resource)
        && !resource.starts_with("requests.")
        && names::label_key(&format!("requests.{resource}")).is_empty()
}

fn may_overcommit(resource: &str) -> bool {
    is_native(resource) && !resource.starts_with(HUGE_PAGES)
}
