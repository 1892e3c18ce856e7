//! Webhooks as they are configured.

use std::sync::Arc;
use std::time::Duration;

use k8s_custom_schema::Condition;
use serde_json::Value;

use crate::metadata::{self, text, texts};
use crate::object::Object;
use crate::selector::ObjectSelector;
use crate::store::Store;

pub(crate) const MUTATING: &str = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
pub(crate) const VALIDATING: &str = "validatingwebhookconfigurations.admissionregistration.k8s.io";

/// How long a webhook may take where its configuration does not say, in seconds.
const TIMEOUT: u64 = 10;

/// Where a webhook is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) url: String,
    /// Namespace and name of the service that it is given by.
    pub(crate) service: Option<(String, String)>,
    /// Certificates that its own is to be signed by (PEM).
    pub(crate) ca_bundle: Vec<u8>,
}

impl Endpoint {
    /// Reads a `clientConfig`; also what a conversion webhook of a definition has.
    pub(crate) fn of(client: &Value) -> Self {
        use base64::Engine as _;
        let bundle = base64::engine::general_purpose::STANDARD.decode(text(client, "/caBundle"));
        let url = text(client, "/url");
        let (url, service) = if url.is_empty() {
            let (namespace, name) = (
                text(client, "/service/namespace"),
                text(client, "/service/name"),
            );
            let port = client
                .pointer("/service/port")
                .and_then(Value::as_i64)
                .unwrap_or(443);
            let path = text(client, "/service/path").trim_start_matches('/');
            (
                format!("https://{name}.{namespace}.svc:{port}/{path}"),
                Some((namespace.into(), name.into())),
            )
        } else {
            (url.into(), None)
        };
        Self {
            url,
            service,
            ca_bundle: bundle.unwrap_or_default(),
        }
    }
}

/// An entry of `rules`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) operations: Vec<String>,
    pub(super) groups: Vec<String>,
    pub(super) versions: Vec<String>,
    pub(super) resources: Vec<String>,
    pub(super) scope: String,
}

/// An expression that says whether a webhook is called.
#[derive(Clone, Debug)]
pub(super) struct MatchCondition {
    pub(super) expression: String,
    pub(super) read: Result<Condition, String>,
}

/// One webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a field of the configuration"
)]
pub(super) struct Hook {
    pub(super) name: String,
    /// Tells it apart from all others.
    pub(super) id: String,
    pub(super) rules: Vec<Rule>,
    pub(super) namespaces: ObjectSelector,
    pub(super) objects: ObjectSelector,
    /// Whether a rule for another version of the same resource counts.
    pub(super) equivalent: bool,
    /// Whether a failed call is passed over.
    pub(super) ignores_failure: bool,
    /// Whether it may be called for a dry run.
    pub(super) harmless: bool,
    pub(super) reinvoked: bool,
    pub(super) timeout: Duration,
    pub(super) review_versions: Vec<String>,
    pub(super) conditions: Vec<MatchCondition>,
    pub(super) endpoint: Endpoint,
}

impl Hook {
    fn all_of(configuration: &Object) -> Vec<Arc<Self>> {
        let value = configuration.value();
        let name = metadata::name(&value);
        let hooks = value.get("webhooks").and_then(Value::as_array);
        hooks
            .into_iter()
            .flatten()
            .enumerate()
            .map(|(index, hook)| {
                Arc::new(Self::of(
                    hook,
                    format!("{name}/{index}/{}", text(hook, "/name")),
                ))
            })
            .collect()
    }

    fn of(hook: &Value, id: String) -> Self {
        let rules = hook.get("rules").and_then(Value::as_array);
        let selector = |key: &str| ObjectSelector::of(hook.get(key).unwrap_or(&Value::Null));
        let timeout = hook
            .get("timeoutSeconds")
            .and_then(Value::as_u64)
            .unwrap_or(TIMEOUT);
        let conditions = hook.get("matchConditions").and_then(Value::as_array);
        Self {
            name: text(hook, "/name").into(),
            id,
            rules: rules.into_iter().flatten().map(Rule::of).collect(),
            namespaces: selector("namespaceSelector"),
            objects: selector("objectSelector"),
            equivalent: text(hook, "/matchPolicy") != "Exact",
            ignores_failure: text(hook, "/failurePolicy") == "Ignore",
            harmless: matches!(text(hook, "/sideEffects"), "None" | "NoneOnDryRun"),
            reinvoked: text(hook, "/reinvocationPolicy") == "IfNeeded",
            timeout: Duration::from_secs(timeout),
            review_versions: owned(hook.get("admissionReviewVersions")),
            conditions: conditions
                .into_iter()
                .flatten()
                .map(MatchCondition::of)
                .collect(),
            endpoint: Endpoint::of(hook.get("clientConfig").unwrap_or(&Value::Null)),
        }
    }
}

impl MatchCondition {
    fn of(condition: &Value) -> Self {
        let expression = text(condition, "/expression").to_owned();
        Self {
            read: Condition::new(&expression),
            expression,
        }
    }
}

impl PartialEq for MatchCondition {
    fn eq(&self, other: &Self) -> bool {
        self.expression == other.expression
    }
}

impl Eq for MatchCondition {}

fn owned(list: Option<&Value>) -> Vec<String> {
    texts(list).into_iter().map(Into::into).collect()
}

impl Rule {
    fn of(rule: &Value) -> Self {
        Self {
            operations: owned(rule.get("operations")),
            groups: owned(rule.get("apiGroups")),
            versions: owned(rule.get("apiVersions")),
            resources: owned(rule.get("resources")),
            scope: text(rule, "/scope").into(),
        }
    }
}

/// The webhooks of all configurations, in the order in which they are called.
#[derive(Debug, Default)]
pub(super) struct Hooks {
    /// Version of the store that they are of.
    version: Option<u64>,
    pub(super) mutating: Arc<[Arc<Hook>]>,
    pub(super) validating: Arc<[Arc<Hook>]>,
}

impl Hooks {
    /// Takes in what was written since the last time.
    pub(super) fn follow(&mut self, store: &Store) {
        let version = store.version();
        if self.version == Some(version) {
            return;
        }
        for (storage, hooks) in [
            (MUTATING, &mut self.mutating),
            (VALIDATING, &mut self.validating),
        ] {
            let unchanged = self
                .version
                .is_some_and(|since| matches!(store.changes(storage, since, 0), Ok((changes, _)) if changes.is_empty()));
            if !unchanged {
                *hooks = store
                    .range(storage, None, None)
                    .flat_map(|(_, configuration)| Hook::all_of(configuration))
                    .collect();
            }
        }
        self.version = Some(version);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.mutating.is_empty() && self.validating.is_empty()
    }
}
