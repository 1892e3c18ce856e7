//! What the server allocates to Services: cluster addresses and ports of nodes.
//!
//! Addresses are taken by objects of the kind `IPAddress`, ports are kept in a set, so that neither choosing nor
//! checking one looks at other Services. Both follow what is stored: an object that is written or removed takes and
//! gives back in [`follow`], so that a refused or dry write takes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use k8s_api_schema::FieldError;
use serde_json::{Map, Value, json};

use crate::lifecycle::State;
use crate::metadata::{self, entry_mut, object_mut};
use crate::source::Source;
use crate::status::Failure;

/// Collection of the services.
pub(crate) const STORAGE: &str = "services";
/// Collection of the addresses that are taken.
pub(crate) const ADDRESSES: &str = "ipaddresses.networking.k8s.io";

/// The range of cluster addresses, `10.0.0.0/24`, as a real server has it unless it is told otherwise.
const NETWORK: u32 = u32::from_be_bytes([10, 0, 0, 0]);
/// The last number of an address; the first is the network's, the last one is for broadcasts.
const LAST_HOST: u32 = 254;
/// Addresses below this one are taken when no others are left, so that people can choose them.
const FIRST_DYNAMIC: u32 = 17;

/// The range of ports of nodes.
const FIRST_PORT: u16 = 30_000;
const LAST_PORT: u16 = 32_767;
/// Ports below this one are taken when no others are left.
const FIRST_DYNAMIC_PORT: u16 = 30_086;

/// Ports of nodes that services have, and how many of them have each.
#[derive(Debug, Default)]
pub(crate) struct Ports(BTreeMap<u16, u32>);

impl Ports {
    fn take(&mut self, port: u16) {
        *self.0.entry(port).or_default() += 1;
    }

    fn give_back(&mut self, port: u16) {
        if let Some(count) = self.0.get_mut(&port) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&port);
            }
        }
    }
}

/// Completes a Service before it is validated: what it does not choose is kept from before or chosen here.
pub(crate) fn allocate(
    state: &mut State,
    service: &mut Value,
    old: Option<&Value>,
) -> Result<(), Failure> {
    let name = metadata::name(service).to_owned();
    let key = crate::store::key(Some(metadata::namespace(service)), &name);
    let empty = Map::new();
    let before = old
        .and_then(|old| old.get("spec"))
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    let spec = entry_mut(object_mut(service), "spec");
    if old.is_some() {
        keep_allocated(spec, before);
    }
    sync_addresses(spec, before, old.is_some());
    let refuse = |errors: &[FieldError]| {
        if errors.is_empty() {
            Ok(())
        } else {
            Err(Failure::invalid("", "Service", &name, errors))
        }
    };
    families(spec, before, old.is_some(), &refuse)?;
    addresses(state, spec, before, old.is_some(), &key, &refuse)?;
    let mut chosen = BTreeSet::new();
    node_ports(state, spec, before, &mut chosen, &name)?;
    health_check_port(state, spec, before, &mut chosen)
}

fn text<'a>(spec: &'a Map<String, Value>, key: &str) -> &'a str {
    spec.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn texts(spec: &Map<String, Value>, key: &str) -> Vec<String> {
    let list = metadata::texts(spec.get(key));
    list.into_iter().map(Into::into).collect()
}

fn set_texts(spec: &mut Map<String, Value>, key: &str, texts: Vec<String>) {
    if texts.is_empty() {
        spec.remove(key);
    } else {
        spec.insert(key.into(), texts.into());
    }
}

fn is_named(spec: &Map<String, Value>) -> bool {
    text(spec, "type") == "ExternalName"
}

fn is_headless(spec: &Map<String, Value>) -> bool {
    text(spec, "clusterIP") == "None"
}

fn has_node_ports(spec: &Map<String, Value>) -> bool {
    matches!(text(spec, "type"), "NodePort" | "LoadBalancer")
}

fn allocates_node_ports(spec: &Map<String, Value>) -> bool {
    text(spec, "type") == "NodePort"
        || (text(spec, "type") == "LoadBalancer"
            && spec.get("allocateLoadBalancerNodePorts") != Some(&Value::Bool(false)))
}

/// What an update leaves out of what was allocated stays as it was.
fn keep_allocated(spec: &mut Map<String, Value>, before: &Map<String, Value>) {
    if !is_named(before) && !is_named(spec) {
        if text(spec, "clusterIP").is_empty() && !text(before, "clusterIP").is_empty() {
            spec.insert("clusterIP".into(), text(before, "clusterIP").into());
        }
        if texts(spec, "clusterIPs").is_empty()
            && text(spec, "clusterIP") == text(before, "clusterIP")
        {
            set_texts(spec, "clusterIPs", texts(before, "clusterIPs"));
        }
    }
    if has_node_ports(before) && has_node_ports(spec) {
        let taken: BTreeSet<u64> = ports(spec).map(node_port).collect();
        let old: BTreeMap<(String, u64), u64> = ports(before)
            .map(|port| (port_key(port), node_port(port)))
            .collect();
        let list = spec.get_mut("ports").and_then(Value::as_array_mut);
        for port in list.into_iter().flatten() {
            if node_port(port) == 0
                && let Some(number) = old.get(&port_key(port)).filter(|number| **number != 0)
                && !taken.contains(number)
            {
                object_mut(port).insert("nodePort".into(), json!(number));
            }
        }
    }
    let needs = crate::defaults::services::needs_health_check;
    let unset = spec
        .get("healthCheckNodePort")
        .and_then(Value::as_u64)
        .unwrap_or(0)
        == 0;
    if needs(before)
        && needs(spec)
        && unset
        && let Some(port) = before.get("healthCheckNodePort")
    {
        spec.insert("healthCheckNodePort".into(), port.clone());
    }
}

fn ports(spec: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    spec.get("ports")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn node_port(port: &Value) -> u64 {
    port.get("nodePort").and_then(Value::as_u64).unwrap_or(0)
}

/// What tells the ports of a service apart.
fn port_key(port: &Value) -> (String, u64) {
    let number = port.get("port").and_then(Value::as_u64).unwrap_or(0);
    (metadata::text(port, "/protocol").to_owned(), number)
}

/// `clusterIP` is the first of `clusterIPs`; who sets only the one means both.
fn sync_addresses(spec: &mut Map<String, Value>, before: &Map<String, Value>, update: bool) {
    let single = text(spec, "clusterIP").to_owned();
    let all = texts(spec, "clusterIPs");
    if !update {
        if !single.is_empty() && all.is_empty() {
            set_texts(spec, "clusterIPs", vec![single]);
        }
        return;
    }
    let (old_single, old_all) = (
        text(before, "clusterIP").to_owned(),
        texts(before, "clusterIPs"),
    );
    if !old_single.is_empty() && single.is_empty() {
        if old_all == all {
            spec.remove("clusterIPs");
        }
    } else if old_single != single && (old_all == all || all.is_empty()) {
        set_texts(spec, "clusterIPs", vec![single]);
    }
}

type Refuse<'a> = &'a dyn Fn(&[FieldError]) -> Result<(), Failure>;

/// Fills the policy and the families, of which this server has one.
fn families(
    spec: &mut Map<String, Value>,
    before: &Map<String, Value>,
    update: bool,
    refuse: Refuse<'_>,
) -> Result<(), Failure> {
    const POLICY: &str = "spec.ipFamilyPolicy";
    if is_named(spec) {
        return Ok(());
    }
    let headless = is_headless(spec)
        && spec
            .get("selector")
            .and_then(Value::as_object)
            .is_none_or(Map::is_empty);
    if spec.get("ipFamilyPolicy").is_none_or(Value::is_null) {
        let policy = match text(before, "ipFamilyPolicy") {
            "" if headless => "RequireDualStack",
            "" => "SingleStack",
            policy => policy,
        };
        spec.insert("ipFamilyPolicy".into(), policy.into());
    }
    refuse(&crate::validation::services::cluster_ips(spec))?;
    let mut errors = Vec::new();
    let policy = text(spec, "ipFamilyPolicy").to_owned();
    let single = policy == "SingleStack";
    let mut invalid = |detail: &str| {
        errors.push(FieldError::invalid(POLICY, policy.as_str(), detail));
    };
    if update {
        for (key, what) in [("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")] {
            let (new, old) = (texts(spec, key), texts(before, key));
            if single && new == old && new.len() > 1 {
                set_texts(spec, key, new[..1].to_vec());
            } else if !single && old.len() == 2 && new.len() == 1 && new[0] == old[0] {
                invalid(&format!(
                    "must be 'SingleStack' to release the secondary {what}"
                ));
            }
        }
    }
    if single {
        for (key, what) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
            if texts(spec, key).len() == 2 {
                invalid(&format!(
                    "must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
                ));
            }
        }
    }
    let all = texts(spec, "clusterIPs");
    let mut families = texts(spec, "ipFamilies");
    for (index, ip) in all.iter().enumerate() {
        if ip == "None" {
            break;
        }
        if index >= families.len() {
            if ip.contains(':') {
                errors.push(FieldError::invalid(
                    format!("spec.clusterIPs[{index}]"),
                    all.clone(),
                    "IPv6 is not configured on this cluster",
                ));
            } else {
                families.push("IPv4".into());
            }
        }
    }
    refuse(&errors)?;
    if headless {
        set_texts(spec, "ipFamilies", any_families(families, single));
        return Ok(());
    }
    if policy == "RequireDualStack" {
        errors.push(FieldError::invalid(
            POLICY,
            policy.as_str(),
            "this cluster is not configured for dual-stack services",
        ));
    }
    for (index, family) in families.iter().enumerate() {
        if family != "IPv4" {
            errors.push(FieldError::invalid(
                format!("spec.ipFamilies[{index}]"),
                family.as_str(),
                "not configured on this cluster",
            ));
        }
    }
    refuse(&errors)?;
    if families.is_empty() {
        families.push("IPv4".into());
    }
    set_texts(spec, "ipFamilies", families);
    Ok(())
}

/// The families of a service without addresses, which has those of the cluster and others.
fn any_families(mut families: Vec<String>, single: bool) -> Vec<String> {
    if families.is_empty() {
        families.push("IPv4".into());
    }
    if families.len() < 2 && !single {
        let other = if families[0] == "IPv4" {
            "IPv6"
        } else {
            "IPv4"
        };
        families.push(other.into());
    }
    families
}

/// Chooses a cluster address, or checks the one that is asked for.
fn addresses(
    state: &mut State,
    spec: &mut Map<String, Value>,
    before: &Map<String, Value>,
    update: bool,
    key: &str,
    refuse: Refuse<'_>,
) -> Result<(), Failure> {
    let all = texts(spec, "clusterIPs");
    if is_named(spec) || all.first().is_some_and(|ip| ip == "None") {
        return Ok(());
    }
    if update && !is_named(before) {
        return Ok(());
    }
    let ip = match all.first() {
        Some(ip) => {
            if let Err(why) = can_take(state, ip) {
                return refuse(&[FieldError::invalid(
                    "spec.clusterIPs",
                    all.clone(),
                    format!("failed to allocate IP {ip}: {why}"),
                )]);
            }
            ip.clone()
        }
        None => free_address(state).ok_or_else(|| {
            let name = key.rsplit('/').next().unwrap_or(key);
            Failure::internal(&format!(
                "failed to allocate a serviceIP for Service {name:?}: range is full"
            ))
        })?,
    };
    spec.insert("clusterIP".into(), ip.as_str().into());
    set_texts(spec, "clusterIPs", vec![ip]);
    Ok(())
}

fn can_take(state: &State, ip: &str) -> Result<(), String> {
    let address: Option<IpAddr> = ip.parse().ok();
    let within = match address {
        Some(IpAddr::V4(address)) => {
            (1..=LAST_HOST).contains(&u32::from(address).wrapping_sub(NETWORK))
        }
        _ => false,
    };
    if !within {
        return Err("the provided network does not match the current range".into());
    }
    if state.store.get(ADDRESSES, ip).is_some() {
        return Err("provided IP is already allocated".into());
    }
    Ok(())
}

fn free_address(state: &mut State) -> Option<String> {
    let State { store, source, .. } = state;
    let mut free = |low: u32, high: u32| {
        first_free(source, low, high, |host| {
            let ip = Ipv4Addr::from(NETWORK + host).to_string();
            store.get(ADDRESSES, &ip).is_none()
        })
    };
    let host = free(FIRST_DYNAMIC, LAST_HOST).or_else(|| free(1, FIRST_DYNAMIC - 1))?;
    Some(Ipv4Addr::from(NETWORK + host).to_string())
}

/// The first free number from a random one on.
fn first_free(
    source: &mut Source,
    low: u32,
    high: u32,
    is_free: impl Fn(u32) -> bool,
) -> Option<u32> {
    let count = high - low + 1;
    let start = u32::try_from(source.between(0, u64::from(count))).unwrap_or(0);
    (0..count)
        .map(|step| low + (start + step) % count)
        .find(|number| is_free(*number))
}

fn free_port(state: &mut State, chosen: &BTreeSet<u16>) -> Option<u16> {
    let State {
        node_ports, source, ..
    } = state;
    let mut free = |low: u16, high: u16| {
        first_free(source, low.into(), high.into(), |port| {
            u16::try_from(port)
                .is_ok_and(|port| !node_ports.0.contains_key(&port) && !chosen.contains(&port))
        })
    };
    free(FIRST_DYNAMIC_PORT, LAST_PORT)
        .or_else(|| free(FIRST_PORT, FIRST_DYNAMIC_PORT - 1))
        .and_then(|port| u16::try_from(port).ok())
}

/// Why a port cannot be taken.
fn port_fault(state: &State, port: u64, chosen: &BTreeSet<u16>) -> Option<String> {
    let Some(port) = u16::try_from(port)
        .ok()
        .filter(|port| (FIRST_PORT..=LAST_PORT).contains(port))
    else {
        return Some(format!(
            "provided port is not in the valid range. The range of valid ports is {FIRST_PORT}-{LAST_PORT}"
        ));
    };
    (state.node_ports.0.contains_key(&port) || chosen.contains(&port))
        .then(|| "provided port is already allocated".into())
}

fn node_ports(
    state: &mut State,
    spec: &mut Map<String, Value>,
    before: &Map<String, Value>,
    chosen: &mut BTreeSet<u16>,
    name: &str,
) -> Result<(), Failure> {
    if !has_node_ports(spec) {
        return Ok(());
    }
    let allocates = allocates_node_ports(spec);
    let own: BTreeSet<u64> = ports(before)
        .map(node_port)
        .filter(|port| *port != 0)
        .collect();
    // Ports of one number in several protocols share a port of the nodes.
    let mut shared: BTreeMap<u64, u64> = BTreeMap::new();
    let mut asked: BTreeMap<u64, u64> = BTreeMap::new();
    for port in ports(spec).filter(|port| node_port(port) != 0) {
        asked.entry(port_key(port).1).or_insert(node_port(port));
    }
    let is_new = before.is_empty();
    let list = spec.get_mut("ports").and_then(Value::as_array_mut);
    for (index, port) in list.into_iter().flatten().enumerate() {
        let number = port_key(port).1;
        let mut wanted = node_port(port);
        if wanted == 0 && !allocates {
            continue;
        }
        if wanted == 0 && is_new {
            wanted = shared
                .get(&number)
                .or(asked.get(&number))
                .copied()
                .unwrap_or(0);
        }
        if wanted == 0 {
            let free = free_port(state, chosen)
                .ok_or_else(|| Failure::internal("failed to allocate a nodePort: range is full"))?;
            chosen.insert(free);
            wanted = free.into();
        } else if !own.contains(&wanted) && !shared.values().any(|port| *port == wanted) {
            if let Some(why) = port_fault(state, wanted, chosen) {
                let field = format!("spec.ports[{index}].nodePort");
                let error = FieldError::invalid(field, wanted, why);
                return Err(Failure::invalid("", "Service", name, &[error]));
            }
            chosen.extend(u16::try_from(wanted));
        }
        shared.entry(number).or_insert(wanted);
        object_mut(port).insert("nodePort".into(), json!(wanted));
    }
    Ok(())
}

fn health_check_port(
    state: &mut State,
    spec: &mut Map<String, Value>,
    before: &Map<String, Value>,
    chosen: &mut BTreeSet<u16>,
) -> Result<(), Failure> {
    let needs = crate::defaults::services::needs_health_check;
    if !needs(spec) || needs(before) {
        return Ok(());
    }
    let asked = spec
        .get("healthCheckNodePort")
        .and_then(Value::as_u64)
        .unwrap_or(0);
    if asked == 0 {
        let port = free_port(state, chosen).ok_or_else(|| {
            Failure::internal("failed to allocate a HealthCheck NodePort 0: range is full")
        })?;
        chosen.insert(port);
        spec.insert("healthCheckNodePort".into(), json!(port));
    } else if let Some(why) = port_fault(state, asked, chosen) {
        return Err(Failure::internal(&format!(
            "failed to allocate requested HealthCheck NodePort {asked}: {why}"
        )));
    }
    Ok(())
}

/// The ports of nodes that a stored Service has, each once.
fn taken_ports(service: &Value) -> BTreeSet<u16> {
    let spec = service.get("spec").and_then(Value::as_object);
    let check = spec.and_then(|spec| spec.get("healthCheckNodePort"));
    spec.into_iter()
        .flat_map(ports)
        .map(node_port)
        .chain(check.and_then(Value::as_u64))
        .filter(|port| *port != 0)
        .filter_map(|port| u16::try_from(port).ok())
        .collect()
}

fn taken_addresses(service: &Value) -> Vec<String> {
    let all = metadata::texts(service.pointer("/spec/clusterIPs"));
    let is_address = |ip: &&str| ip.parse::<IpAddr>().is_ok();
    all.into_iter().filter(is_address).map(Into::into).collect()
}

/// Takes and gives back what a stored Service has now and had before.
pub(crate) fn follow(state: &mut State, before: Option<&Value>, after: Option<&Value>) {
    let (old_ports, new_ports) = (
        before.map(taken_ports).unwrap_or_default(),
        after.map(taken_ports).unwrap_or_default(),
    );
    for port in old_ports.difference(&new_ports) {
        state.node_ports.give_back(*port);
    }
    for port in new_ports.difference(&old_ports) {
        state.node_ports.take(*port);
    }
    let (old, new) = (
        before.map(taken_addresses).unwrap_or_default(),
        after.map(taken_addresses).unwrap_or_default(),
    );
    for ip in old.iter().filter(|ip| !new.contains(ip)) {
        state.store.remove(&ADDRESSES.into(), &ip.as_str().into());
    }
    let Some(after) = after else { return };
    for ip in new.iter().filter(|ip| !old.contains(ip)) {
        let object = json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "IPAddress",
            "metadata": {
                "name": ip,
                "uid": state.source.uid(),
                "creationTimestamp": state.source.stamp(),
                "labels": {
                    "ipaddress.kubernetes.io/ip-family": "IPv4",
                    "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
                },
            },
            "spec": {"parentRef": {
                "resource": "services",
                "namespace": metadata::namespace(after),
                "name": metadata::name(after),
            }},
        });
        state
            .store
            .put(&ADDRESSES.into(), &ip.as_str().into(), object);
    }
}
