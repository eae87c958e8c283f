//! The limits as `broker/` and `net/` use them.

use super::Kind;
use super::Quotas;
use super::Who;
use crate::cluster::Image;
use crate::cluster::records::ClientQuotaRecord;
use crate::cluster::records::QuotaEntity;
use crate::config::QuotaSettings;
use crate::io::Clock;
use std::time::Duration;

fn set(image: &mut Image, entity: (&str, Option<&str>), key: &str, value: f64) {
    let entity =
        vec![QuotaEntity { entity_type: entity.0.to_owned(), entity_name: entity.1.map(str::to_owned) }];
    let record = ClientQuotaRecord { entity, key: key.to_owned(), value, remove: false };
    image.apply(&record.into()).unwrap();
}

const SETTINGS: QuotaSettings =
    QuotaSettings { window_num: 11, window_seconds: 1, mutation_window_num: 11, mutation_window_seconds: 1 };

const ME: Who<'static> = Who { user: "ANONYMOUS", client_id: "me" };
const OTHER: Who<'static> = Who { user: "ANONYMOUS", client_id: "other" };

#[tokio::test]
async fn a_client_beyond_its_limit_pauses_and_others_do_not() {
    let mut image = Image::empty("c");
    let quotas = Quotas::new(&SETTINGS, Clock::system());
    quotas.update(&image).await;
    assert!(!quotas.has(Kind::Produce));
    assert_eq!(quotas.record(Kind::Produce, ME, 1e12), Duration::ZERO);
    set(&mut image, ("client-id", Some("me")), "producer_byte_rate", 1000.0);
    quotas.update(&image).await;
    assert!(quotas.has(Kind::Produce) && !quotas.has(Kind::Fetch));
    assert_eq!(quotas.record(Kind::Produce, ME, 10_000.0), Duration::ZERO);
    let pause = quotas.record(Kind::Produce, ME, 5_000.0);
    assert!(pause > Duration::from_secs(4) && pause <= Duration::from_secs(5), "{pause:?}");
    assert_eq!(quotas.record(Kind::Produce, OTHER, 1e12), Duration::ZERO);
    quotas.take_back(Kind::Produce, ME, 6_000.0);
    assert_eq!(quotas.record(Kind::Produce, ME, 0.0), Duration::ZERO);
    assert_eq!(quotas.most_in_windows(Kind::Produce, ME), Some(10_000.0));
    assert_eq!(quotas.most_in_windows(Kind::Fetch, ME), None);
}

#[tokio::test]
async fn who_is_limited_is_measured_until_the_limit_goes() {
    let mut image = Image::empty("c");
    set(&mut image, ("client-id", None), "producer_byte_rate", 1000.0);
    set(&mut image, ("user", Some("ANONYMOUS")), "consumer_byte_rate", 1e9);
    let quotas = Quotas::new(&SETTINGS, Clock::system());
    quotas.update(&image).await;
    let pause = quotas.record(Kind::Produce, ME, 20_000.0);
    quotas.record(Kind::Produce, OTHER, 10.0);
    quotas.record(Kind::Fetch, ME, 10.0);
    let figures = quotas.figures(10);
    let names: Vec<(Kind, &str, &str)> =
        figures.iter().map(|one| (one.kind, one.user.as_str(), one.client_id.as_str())).collect();
    let wanted = [(Kind::Produce, "", "me"), (Kind::Produce, "", "other"), (Kind::Fetch, "ANONYMOUS", "")];
    assert_eq!(names, wanted);
    assert!(figures[0].rate > 1900.0 && figures[0].rate <= 2000.0, "{}", figures[0].rate);
    let told = figures[0].pause_ms.unwrap();
    assert!((told - pause.as_secs_f64() * 1000.0).abs() < 0.001, "{told}");
    assert_eq!(figures[1].pause_ms, None);
    assert_eq!(quotas.figures(1).len(), 2, "at most one of each kind");
    let mut image = Image::empty("c");
    set(&mut image, ("client-id", Some("other")), "producer_byte_rate", 1000.0);
    quotas.update(&image).await;
    let left: Vec<String> = quotas.figures(10).into_iter().map(|one| one.client_id).collect();
    assert_eq!(left, ["other"]);
}

#[tokio::test]
async fn names_made_up_for_each_request_do_not_take_memory_without_end() {
    let mut image = Image::empty("c");
    set(&mut image, ("client-id", None), "request_percentage", 1.0);
    let quotas = Quotas::new(&SETTINGS, Clock::system());
    quotas.update(&image).await;
    let mut paused = false;
    for number in 0..20_000 {
        let name = number.to_string();
        let who = Who { user: "ANONYMOUS", client_id: &name };
        paused |= !quotas.record(Kind::Request, who, 1.0).is_zero();
    }
    assert!(quotas.counted() <= 10_000);
    assert!(paused, "those without room share one limit");
}

#[tokio::test]
async fn connections_of_an_address_come_no_faster_than_its_limit() {
    let mut image = Image::empty("c");
    set(&mut image, ("ip", Some("127.0.0.1")), "connection_creation_rate", 1.0);
    let quotas = Quotas::new(&SETTINGS, Clock::system());
    quotas.update(&image).await;
    let (limited, free) = ("127.0.0.1".parse().unwrap(), "127.0.0.2".parse().unwrap());
    let mapped = "::ffff:127.0.0.1".parse().unwrap();
    for _ in 0..10 {
        assert_eq!(quotas.connection(limited), Duration::ZERO);
        assert_eq!(quotas.connection(free), Duration::ZERO);
    }
    assert!(!quotas.connection(limited).is_zero() && !quotas.connection(mapped).is_zero());
    set(&mut image, ("ip", None), "connection_creation_rate", 1.0);
    quotas.update(&image).await;
    for _ in 0..10 {
        quotas.connection(free);
    }
    assert!(!quotas.connection(free).is_zero());
}

#[tokio::test]
async fn changes_of_topics_are_paid_with_tokens() {
    let mut image = Image::empty("c");
    set(&mut image, ("user", Some("ANONYMOUS")), "controller_mutation_rate", 1.0);
    let quotas = Quotas::new(&SETTINGS, Clock::system());
    quotas.update(&image).await;
    let tokens = quotas.allowance(ME).unwrap();
    assert!(tokens.take(16, true), "5 more than all windows hold");
    assert!(!quotas.allowance(OTHER).unwrap().take(1, true), "the user's clients share them");
    let pause = quotas.mutation_pause(ME);
    assert!(pause > Duration::from_secs(4) && pause <= Duration::from_secs(5), "{pause:?}");
    assert!(quotas.allowance(Who { user: "other", client_id: "me" }).is_none());
}
