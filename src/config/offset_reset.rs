//! Where a share group begins in a partition that it does not know: `share.auto.offset.reset`.

/// `earliest`, `latest`, or `by_duration:` with an ISO 8601 duration (`ShareGroupAutoOffsetResetStrategy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetReset {
    /// At the log's start.
    Earliest,
    /// At its end.
    Latest,
    /// At the first record of the last so many milliseconds.
    Since(i64),
}

impl OffsetReset {
    /// What these words say; `None` for other words.
    pub fn parse(text: &str) -> Option<OffsetReset> {
        match text {
            "earliest" => Some(OffsetReset::Earliest),
            "latest" => Some(OffsetReset::Latest),
            other => other.strip_prefix("by_duration:").and_then(duration_ms).map(OffsetReset::Since),
        }
    }
}

/// `P2DT3H4M5.5S` in milliseconds: days, hours, minutes and seconds, as Java's `Duration` reads them, not negative.
fn duration_ms(text: &str) -> Option<i64> {
    let text = text.to_ascii_uppercase();
    let rest = text.strip_prefix('P')?;
    let (days, time) = rest.split_once('T').unwrap_or((rest, ""));
    if rest.is_empty() || (rest.contains('T') && time.is_empty()) {
        return None;
    }
    let mut total: i64 = 0;
    if !days.is_empty() {
        let days: i64 = days.strip_suffix('D')?.parse().ok()?;
        total = total.checked_add(days.checked_mul(86_400_000)?)?;
    }
    let mut left = time;
    for (unit, millis) in [('H', 3_600_000i64), ('M', 60_000)] {
        if let Some((number, after)) = left.split_once(unit) {
            let number: i64 = number.parse().ok()?;
            total = total.checked_add(number.checked_mul(millis)?)?;
            left = after;
        }
    }
    if !left.is_empty() {
        total = total.checked_add(seconds_ms(left.strip_suffix('S')?)?)?;
    }
    (total >= 0).then_some(total)
}

/// Seconds with up to nine digits behind the point, in milliseconds.
fn seconds_ms(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole: i64 = whole.parse().ok()?;
    if fraction.len() > 9 || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    let millis: i64 = digits.parse().ok()?;
    whole.checked_mul(1000)?.checked_add(millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_java_reads_them() {
        let cases = [
            ("by_duration:PT1H", Some(OffsetReset::Since(3_600_000))),
            ("by_duration:P1DT2H3M4.5S", Some(OffsetReset::Since(93_784_500))),
            ("by_duration:P7D", Some(OffsetReset::Since(604_800_000))),
            ("by_duration:pt0.001s", Some(OffsetReset::Since(1))),
            ("by_duration:PT", None),
            ("by_duration:P", None),
            ("by_duration:-PT1H", None),
            ("by_duration:PT-1H", None),
            ("by_duration:PT1X", None),
            ("by_duration:P1Y", None),
            ("none", None),
            ("earliest", Some(OffsetReset::Earliest)),
        ];
        for (text, expected) in cases {
            assert_eq!(OffsetReset::parse(text), expected, "{text}");
        }
    }
}
