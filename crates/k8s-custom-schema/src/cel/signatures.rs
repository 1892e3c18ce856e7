//! The functions that rules may call, with their types.

use super::ty::Ty;

/// One letter a type: `b`ool, `i`nt, `u`int, `d`ouble, `s`tring, b`y`tes, `D`uration, `T`imestamp, `t`ype, `x` any,
/// `L`ist, `M`ap, `S` list of texts, `N` list of lists, `o`ptional, `Q`uantity, `I`P, `C`IDR, `V`ersion, `U`RL,
/// `F`ormat. As a result also `E` the type of the target's items, `R` the target's own, `A` the first argument's, `O` an optional of the
/// format, `W` an optional of the argument, `P` what is in the target.
const SIGNATURES: &[&str] = &[
    "size(s)i",
    "size(y)i",
    "size(L)i",
    "size(M)i",
    "s.size()i",
    "y.size()i",
    "L.size()i",
    "M.size()i",
    "s.contains(s)b",
    "s.startsWith(s)b",
    "s.endsWith(s)b",
    "s.matches(s)b",
    "matches(ss)b",
    "int(i)i",
    "int(u)i",
    "int(d)i",
    "int(s)i",
    "int(T)i",
    "int(D)i",
    "uint(i)u",
    "uint(u)u",
    "uint(d)u",
    "uint(s)u",
    "double(i)d",
    "double(u)d",
    "double(d)d",
    "double(s)d",
    "string(s)s",
    "string(b)s",
    "string(i)s",
    "string(u)s",
    "string(d)s",
    "string(y)s",
    "string(D)s",
    "string(T)s",
    "string(I)s",
    "string(C)s",
    "bytes(s)y",
    "bytes(y)y",
    "bool(b)b",
    "bool(s)b",
    "dyn(x)x",
    "type(x)t",
    "duration(s)D",
    "duration(D)D",
    "duration(i)D",
    "timestamp(s)T",
    "timestamp(T)T",
    "timestamp(i)T",
    "T.getFullYear()i",
    "T.getFullYear(s)i",
    "T.getMonth()i",
    "T.getMonth(s)i",
    "T.getDate()i",
    "T.getDate(s)i",
    "T.getDayOfMonth()i",
    "T.getDayOfMonth(s)i",
    "T.getDayOfWeek()i",
    "T.getDayOfWeek(s)i",
    "T.getDayOfYear()i",
    "T.getDayOfYear(s)i",
    "T.getHours()i",
    "T.getHours(s)i",
    "T.getMinutes()i",
    "T.getMinutes(s)i",
    "T.getSeconds()i",
    "T.getSeconds(s)i",
    "T.getMilliseconds()i",
    "T.getMilliseconds(s)i",
    "D.getHours()i",
    "D.getMinutes()i",
    "D.getSeconds()i",
    "D.getMilliseconds()i",
    "s.charAt(i)s",
    "s.indexOf(s)i",
    "s.indexOf(si)i",
    "s.lastIndexOf(s)i",
    "s.lastIndexOf(si)i",
    "S.join()s",
    "S.join(s)s",
    "s.lowerAscii()s",
    "s.upperAscii()s",
    "s.replace(ss)s",
    "s.replace(ssi)s",
    "s.split(s)S",
    "s.split(si)S",
    "s.substring(i)s",
    "s.substring(ii)s",
    "s.trim()s",
    "s.format(L)s",
    "strings.quote(s)s",
    "s.find(s)s",
    "s.findAll(s)S",
    "s.findAll(si)S",
    "L.isSorted()b",
    "L.sum()E",
    "L.min()E",
    "L.max()E",
    "L.indexOf(x)i",
    "L.lastIndexOf(x)i",
    "L.slice(ii)R",
    "L.flatten()L",
    "L.flatten(i)L",
    "L.sort()R",
    "L.distinct()R",
    "L.reverse()R",
    "lists.range(i)L",
    "L.first()o",
    "L.last()o",
    "sets.contains(LL)b",
    "sets.equivalent(LL)b",
    "sets.intersects(LL)b",
    "url(s)U",
    "isURL(s)b",
    "U.getScheme()s",
    "U.getHost()s",
    "U.getHostname()s",
    "U.getPort()s",
    "U.getEscapedPath()s",
    "U.getQuery()M",
    "quantity(s)Q",
    "isQuantity(s)b",
    "Q.sign()i",
    "Q.isInteger()b",
    "Q.asInteger()i",
    "Q.asApproximateFloat()d",
    "Q.add(Q)Q",
    "Q.add(i)Q",
    "Q.sub(Q)Q",
    "Q.sub(i)Q",
    "Q.isLessThan(Q)b",
    "Q.isGreaterThan(Q)b",
    "Q.compareTo(Q)i",
    "ip(s)I",
    "isIP(s)b",
    "ip.isCanonical(s)b",
    "I.family()i",
    "I.isUnspecified()b",
    "I.isLoopback()b",
    "I.isLinkLocalMulticast()b",
    "I.isLinkLocalUnicast()b",
    "I.isGlobalUnicast()b",
    "cidr(s)C",
    "isCIDR(s)b",
    "C.containsIP(s)b",
    "C.containsIP(I)b",
    "C.containsCIDR(s)b",
    "C.containsCIDR(C)b",
    "C.ip()I",
    "C.masked()C",
    "C.prefixLength()i",
    "semver(s)V",
    "semver(sb)V",
    "isSemver(s)b",
    "isSemver(sb)b",
    "V.major()i",
    "V.minor()i",
    "V.patch()i",
    "V.isLessThan(V)b",
    "V.isGreaterThan(V)b",
    "V.compareTo(V)i",
    "format.named(s)O",
    "format.dns1123Label()F",
    "format.dns1123Subdomain()F",
    "format.dns1035Label()F",
    "format.qualifiedName()F",
    "format.dns1123LabelPrefix()F",
    "format.dns1123SubdomainPrefix()F",
    "format.dns1035LabelPrefix()F",
    "format.labelValue()F",
    "format.uri()F",
    "format.uuid()F",
    "format.byte()F",
    "format.date()F",
    "format.datetime()F",
    "F.validate(s)o",
    "optional.of(x)W",
    "optional.ofNonZeroValue(x)W",
    "optional.none()o",
    "o.hasValue()b",
    "o.value()P",
    "o.orValue(x)P",
    "o.or(o)R",
];

/// Names that functions are qualified with.
pub(super) const NAMESPACES: &[&str] = &["strings", "lists", "sets", "ip", "format", "optional"];

/// What a call gives.
pub(super) enum Found {
    /// No function has the name.
    Unknown,
    /// None of the functions of the name takes the arguments.
    NoOverload,
    Result(Ty),
}

fn ty(letter: char) -> Ty {
    match letter {
        'b' => Ty::Bool,
        'i' => Ty::Int,
        'u' => Ty::Uint,
        'd' => Ty::Double,
        's' => Ty::String,
        'y' => Ty::Bytes,
        'D' => Ty::Duration,
        'T' => Ty::Timestamp,
        't' => Ty::Type,
        'L' => Ty::list(Ty::Dyn),
        'S' => Ty::list(Ty::String),
        'M' => Ty::Map(Ty::Dyn.into(), Ty::Dyn.into()),
        'o' => Ty::optional(Ty::Dyn),
        'Q' => Ty::Opaque("kubernetes.Quantity"),
        'I' => Ty::Opaque("net.IP"),
        'C' => Ty::Opaque("net.CIDR"),
        'V' => Ty::Opaque("kubernetes.Semver"),
        'U' => Ty::Opaque("kubernetes.URL"),
        'F' => Ty::Opaque("kubernetes.NamedFormat"),
        'O' => Ty::optional(ty('F')),
        _ => Ty::Dyn,
    }
}

/// Finds the function of a call; a qualified name has no target.
pub(super) fn find(name: &str, target: Option<&Ty>, args: &[Ty]) -> Found {
    let mut known = false;
    let mut result: Option<Ty> = None;
    for signature in SIGNATURES {
        let Some((head, rest)) = signature.split_once('(') else {
            continue;
        };
        let Some((params, gives)) = rest.split_once(')') else {
            continue;
        };
        let (receiver, own) = match head.split_once('.') {
            Some((receiver, own)) if receiver.len() == 1 => (receiver.chars().next(), own),
            _ => (None, head),
        };
        if own != name {
            continue;
        }
        known = true;
        let params: Vec<Ty> = params.chars().map(ty).collect();
        let fits = params.len() == args.len()
            && params.iter().zip(args).all(|(param, arg)| arg.fits(param))
            && match (receiver, target) {
                (None, None) => true,
                (Some(receiver), Some(target)) => target.fits(&ty(receiver)),
                _ => false,
            };
        if !fits {
            continue;
        }
        let inner = |ty: Option<&Ty>| match ty {
            Some(Ty::List(items) | Ty::Optional(items)) => (**items).clone(),
            _ => Ty::Dyn,
        };
        let gives = match gives {
            "E" | "P" => inner(target),
            "R" => target.cloned().unwrap_or(Ty::Dyn),
            "W" => Ty::optional(args.first().cloned().unwrap_or(Ty::Dyn)),
            letter => ty(letter.chars().next().unwrap_or('x')),
        };
        result = Some(match result {
            None => gives,
            Some(other) => other.join(&gives),
        });
    }
    match result {
        Some(result) => Found::Result(result),
        None if known => Found::NoOverload,
        None => Found::Unknown,
    }
}
