//! Functions of Kubernetes' libraries: those of `kube-cel`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use k8s_api_schema::quote;
use kube_cel::KubeCelExt as _;
use kube_cel::cel::objects::{Key as OtherKey, Map as OtherMap};
use kube_cel::cel::{Context, ExecutionError, Program, Value};

use super::addresses;
use super::cost::{EXCEEDED, LARGEST_TEXT};
use super::eval::Outcome;
use super::value::{Key, Val};

thread_local! {
    static CONTEXT: Context<'static> = Context::default().with_all();
    static PROGRAMS: RefCell<HashMap<String, Rc<Program>>> = RefCell::default();
}

/// How many decimal places a format may ask for; what makes them has no bound, or panics.
const MOST_PLACES: usize = 1_000;

/// Calls a function of a library.
pub(super) fn call(name: &str, target: Option<&Val>, args: &[Val]) -> Outcome {
    if made(name, target, args) > LARGEST_TEXT {
        return Err(EXCEEDED.into());
    }
    if let ("format", Some(Val::Str(format))) = (name, target)
        && has_many_places(format)
    {
        return Err("invalid precision in format string".into());
    }
    if let ("cidr" | "isCIDR", None, [Val::Str(text)]) = (name, target, args)
        && addresses::has_padded_bits(text)
    {
        return match name {
            "cidr" => Err(addresses::no_cidr(text)),
            _ => Ok(Val::Bool(false)),
        };
    }
    let offset = usize::from(target.is_some());
    let params: Vec<String> = (0..args.len())
        .map(|index| format!("a{}", index + offset))
        .collect();
    let receiver = if target.is_some() { "a0." } else { "" };
    let source = format!("{receiver}{name}({})", params.join(","));
    let program = PROGRAMS.with(|programs| {
        if let Some(known) = programs.borrow().get(&source) {
            return Ok(known.clone());
        }
        let program = Rc::new(Program::compile(&source).map_err(|error| error.to_string())?);
        programs.borrow_mut().insert(source, program.clone());
        Ok::<_, String>(program)
    })?;
    CONTEXT.with(|context| {
        let mut scope = context.new_inner_scope();
        for (index, value) in target.into_iter().chain(args).enumerate() {
            let value = into_other(value).ok_or("no such overload")?;
            scope.add_variable_from_value(format!("a{index}"), value);
        }
        match program.execute(&scope) {
            Ok(value) => from_other(value, name),
            Err(ExecutionError::FunctionError { message, .. }) => {
                Err(words(name, target, args).unwrap_or(message))
            }
            Err(ExecutionError::NoSuchKey(key)) => Err(format!("no such key: {key}")),
            Err(_) => Err("no such overload".into()),
        }
    })
}

/// How large a text becomes at most, in bytes, where it can become larger than what it is made of.
fn made(name: &str, target: Option<&Val>, args: &[Val]) -> usize {
    match (name, target, args) {
        ("replace", Some(Val::Str(text)), [Val::Str(old), Val::Str(new), limit @ ..]) => {
            let found = text.matches(&**old).count();
            let most = match limit {
                [Val::Int(limit)] => usize::try_from(*limit).unwrap_or(usize::MAX),
                _ => usize::MAX,
            };
            let added = found.min(most).saturating_mul(new.len());
            text.len().saturating_add(added)
        }
        ("join", Some(Val::List(list)), args) => {
            let between = match args {
                [Val::Str(between)] => between.len(),
                _ => 0,
            };
            sum(&list.items).saturating_add(list.items.len().saturating_mul(between))
        }
        ("format", Some(Val::Str(text)), [Val::List(list)]) => {
            text.len().saturating_add(sum(&list.items))
        }
        _ => 0,
    }
}

fn sum(values: &[Val]) -> usize {
    values.iter().map(text_size).fold(0, usize::saturating_add)
}

fn text_size(value: &Val) -> usize {
    match value {
        Val::Str(text) => text.len(),
        Val::Bytes(bytes) => bytes.len(),
        Val::List(list) => sum(&list.items),
        Val::Map(map) => map
            .entries
            .values()
            .map(text_size)
            .fold(0, usize::saturating_add),
        _ => 0,
    }
}

fn has_many_places(format: &str) -> bool {
    format.split("%.").skip(1).any(|after| {
        let digits = after.split(|c: char| !c.is_ascii_digit()).next();
        let digits = digits.unwrap_or_default();
        !digits.is_empty()
            && digits
                .parse()
                .is_ok_and(|places: usize| places > MOST_PLACES)
            || digits.len() > 18
    })
}

/// What the real server says where a function fails; none where it says what the library does.
fn words(name: &str, target: Option<&Val>, args: &[Val]) -> Option<String> {
    let conversion = "parse error during conversion from string";
    Some(match (name, target, args) {
        ("url", None, [Val::Str(text)]) => {
            format!("URL {conversion}: parse {}: {}", quote(text), no_url(text))
        }
        ("ip", None, [Val::Str(text)]) => addresses::no_ip(text),
        ("cidr", None, [Val::Str(text)]) => addresses::no_cidr(text),
        ("quantity", None, [Val::Str(_)]) => NO_QUANTITY.into(),
        ("asInteger", Some(_), []) => "cannot convert value to integer".into(),
        ("min" | "max", Some(Val::List(list)), []) if list.items.is_empty() => {
            format!("{name} called on empty list")
        }
        ("substring", Some(_), [Val::Int(start), Val::Int(end)]) if start > end => {
            format!("invalid substring range. start: {start}, end: {end}")
        }
        ("charAt" | "substring" | "indexOf" | "lastIndexOf", Some(Val::Str(text)), args) => {
            let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
            let outside = args.iter().find_map(|arg| match arg {
                Val::Int(index) if !(0..=length).contains(index) => Some(index),
                _ => None,
            })?;
            format!("index out of range: {outside}")
        }
        _ => return None,
    })
}

const NO_QUANTITY: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// Why a text is no URL, in the words of Go's parser.
fn no_url(text: &str) -> &'static str {
    if text.contains(|c: char| c.is_ascii_control()) {
        "net/url: invalid control character in URL"
    } else if text.is_empty() {
        "empty url"
    } else if text.starts_with(':') {
        "missing protocol scheme"
    } else {
        "invalid URI for request"
    }
}

fn into_other(value: &Val) -> Option<Value> {
    Some(match value {
        Val::Null => Value::Null,
        Val::Bool(flag) => Value::Bool(*flag),
        Val::Int(number) => Value::Int(*number),
        Val::Uint(number) => Value::UInt(*number),
        Val::Double(number) => Value::Float(*number),
        Val::Str(text) => Value::String(Arc::new(text.to_string())),
        Val::Bytes(bytes) => Value::Bytes(Arc::new(bytes.to_vec())),
        Val::Duration(_) | Val::Timestamp(_) => {
            // The other crate's types of time can be made by its own functions alone.
            let function = if matches!(value, Val::Duration(_)) {
                "duration"
            } else {
                "timestamp"
            };
            let source = format!("{function}('{}')", super::functions::print(value));
            let program = Program::compile(&source).ok()?;
            CONTEXT.with(|context| program.execute(context)).ok()?
        }
        Val::List(list) => {
            let items: Option<Vec<Value>> = list.items.iter().map(into_other).collect();
            Value::List(Arc::new(items?))
        }
        Val::Map(map) => {
            let mut entries: HashMap<OtherKey, Value> = HashMap::new();
            for (key, value) in &map.entries {
                let key = match key {
                    Key::Bool(flag) => OtherKey::Bool(*flag),
                    Key::Int(number) => OtherKey::Int(*number),
                    Key::Uint(number) => OtherKey::Uint(*number),
                    Key::Str(text) => OtherKey::String(Arc::new(text.to_string())),
                };
                entries.insert(key, into_other(value)?);
            }
            Value::Map(OtherMap {
                map: Arc::new(entries),
            })
        }
        Val::Opaque(value) => value.clone(),
        Val::Type(_) | Val::Optional(_) | Val::Json(_) | Val::Broken(_) => return None,
    })
}

fn from_other(value: Value, name: &str) -> Outcome {
    Ok(match value {
        // A format that there is not.
        Value::Null if name == "format.named" => Val::Optional(None),
        Value::Null => Val::Null,
        Value::Bool(flag) => Val::Bool(flag),
        Value::Int(number) => Val::Int(number),
        Value::UInt(number) => Val::Uint(number),
        Value::Float(number) => Val::Double(number),
        Value::String(text) => Val::text(&text),
        Value::Bytes(bytes) => Val::Bytes(bytes.as_slice().into()),
        Value::List(list) => {
            let items: Result<Vec<Val>, String> = list
                .iter()
                .map(|item| from_other(item.clone(), ""))
                .collect();
            Val::list(items?)
        }
        Value::Map(map) => {
            let entries: Result<_, String> = map
                .map
                .iter()
                .map(|(key, value)| {
                    let key = match key {
                        OtherKey::Bool(flag) => Key::Bool(*flag),
                        OtherKey::Int(number) => Key::Int(*number),
                        OtherKey::Uint(number) => Key::Uint(*number),
                        OtherKey::String(text) => Key::Str(text.as_str().into()),
                    };
                    Ok((key, from_other(value.clone(), "")?))
                })
                .collect();
            Val::map(entries?)
        }
        Value::Duration(span) => match span.num_nanoseconds() {
            Some(nanos) => Val::Duration(jiff::SignedDuration::from_nanos(nanos)),
            None => return Err("duration overflow".into()),
        },
        Value::Timestamp(time) => match time.to_rfc3339().parse() {
            Ok(time) => Val::Timestamp(time),
            Err(_) => return Err("timestamp overflow".into()),
        },
        Value::Opaque(_) => match unwrap_optional(&value) {
            Some(Some(inner)) => Val::some(from_other(inner, "")?),
            Some(None) => Val::Optional(None),
            None if name == "format.named" => Val::some(Val::Opaque(value)),
            None => Val::Opaque(value),
        },
        Value::Function(..) => return Err("no such overload".into()),
    })
}

#[allow(clippy::option_option, reason = "no optional, and an empty one")]
fn unwrap_optional(value: &Value) -> Option<Option<Value>> {
    let Value::Opaque(opaque) = value else {
        return None;
    };
    let optional: &kube_cel::cel::objects::OptionalValue = opaque.downcast_ref()?;
    Some(optional.value().cloned())
}
