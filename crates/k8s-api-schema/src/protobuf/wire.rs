//! The wire format of protobuf: a row of numbered fields.

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Payload<'a> {
    /// A whole number or a truth value.
    Number(i64),
    /// A number of eight bytes.
    Eight(u64),
    /// A text, bytes or a message.
    Bytes(&'a [u8]),
    /// What no type of Kubernetes has: a group, or four bytes.
    Foreign,
}

/// The fields of a message; ends after the first error.
pub(super) fn fields(bytes: &[u8]) -> impl Iterator<Item = Result<(u32, Payload<'_>), String>> {
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

fn field<'a>(rest: &mut &'a [u8]) -> Result<(u32, Payload<'a>), String> {
    let key = varint(rest)?;
    let number = u32::try_from(key >> 3).map_err(|_| "proto: illegal tag")?;
    if number == 0 {
        return Err("proto: illegal tag 0".into());
    }
    let payload = match key & 7 {
        0 => Payload::Number(varint(rest)?.cast_signed()),
        1 => {
            let (bytes, after) = rest.split_first_chunk::<8>().ok_or("unexpected EOF")?;
            *rest = after;
            Payload::Eight(u64::from_le_bytes(*bytes))
        }
        2 => {
            let length = usize::try_from(varint(rest)?).map_err(|_| "unexpected EOF")?;
            let (bytes, after) = rest.split_at_checked(length).ok_or("unexpected EOF")?;
            *rest = after;
            Payload::Bytes(bytes)
        }
        3 => {
            skip_group(rest)?;
            Payload::Foreign
        }
        5 => {
            *rest = rest.get(4..).ok_or("unexpected EOF")?;
            Payload::Foreign
        }
        other => return Err(format!("proto: illegal wireType {other}")),
    };
    Ok((number, payload))
}

/// Takes what is up to the end of a group that was begun.
fn skip_group(rest: &mut &[u8]) -> Result<(), String> {
    let mut open = 1_usize;
    while open > 0 {
        match varint(rest)? & 7 {
            0 => drop(varint(rest)?),
            1 => *rest = rest.get(8..).ok_or("unexpected EOF")?,
            2 => {
                let length = usize::try_from(varint(rest)?).map_err(|_| "unexpected EOF")?;
                *rest = rest.get(length..).ok_or("unexpected EOF")?;
            }
            3 => open += 1,
            4 => open -= 1,
            5 => *rest = rest.get(4..).ok_or("unexpected EOF")?,
            other => return Err(format!("proto: illegal wireType {other}")),
        }
    }
    Ok(())
}

/// Takes a number of seven bits a byte.
pub(super) fn varint(rest: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first().ok_or("unexpected EOF")?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("proto: integer overflow".into())
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        #[allow(clippy::cast_possible_truncation, reason = "seven bits")]
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    #[allow(clippy::cast_possible_truncation, reason = "seven bits are left")]
    out.push(value as u8);
}

pub(super) fn put_number(out: &mut Vec<u8>, number: u32, value: i64) {
    put_varint(out, u64::from(number) << 3);
    put_varint(out, value.cast_unsigned());
}

pub(super) fn put_double(out: &mut Vec<u8>, number: u32, value: f64) {
    put_varint(out, u64::from(number) << 3 | 1);
    out.extend(value.to_bits().to_le_bytes());
}

pub(super) fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_varint(out, u64::from(number) << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend(bytes);
}
