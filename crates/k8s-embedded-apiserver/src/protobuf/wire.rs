//! The wire format of protobuf: a row of numbered fields.

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Payload<'a> {
    /// A whole number or a truth value.
    Number(i64),
    /// A text, bytes or a message.
    Bytes(&'a [u8]),
}

/// The fields of a message; ends after the first error.
pub(super) fn fields(bytes: &[u8]) -> impl Iterator<Item = Result<(u64, Payload<'_>), String>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let field = field(&mut rest);
        if field.is_err() {
            rest = &[];
        }
        Some(field)
    })
}

fn field<'a>(rest: &mut &'a [u8]) -> Result<(u64, Payload<'a>), String> {
    let key = varint(rest)?;
    let payload = match key & 7 {
        0 => Payload::Number(varint(rest)?.cast_signed()),
        2 => {
            let length = usize::try_from(varint(rest)?).map_err(|_| "a field is too long")?;
            let (bytes, after) = rest
                .split_at_checked(length)
                .ok_or("a field ends too early")?;
            *rest = after;
            Payload::Bytes(bytes)
        }
        other => return Err(format!("wire type {other} is not used by Kubernetes")),
    };
    Ok((key >> 3, payload))
}

fn varint(rest: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first().ok_or("a number ends too early")?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("a number is too long".into())
}

/// Whether there is nothing in it: zero, no bytes, or a message of such fields.
pub(super) fn is_empty(payload: Payload<'_>) -> bool {
    match payload {
        Payload::Number(number) => number == 0,
        Payload::Bytes(bytes) => fields(bytes)
            .all(|field| field.is_ok_and(|(number, payload)| number > 0 && is_empty(payload))),
    }
}
