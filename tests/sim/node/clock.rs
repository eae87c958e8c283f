//! A wall clock that lies: ten years ahead or behind, to and fro, or standing still (R10 of `docs/reliability.md`).
//! Nothing is deleted early, no member is sent away, no offset is forgotten, no producer's batch is taken twice.

use crate::node::model::Known;
use crate::node::requests as ask;
use crate::node::world::World;
use dohle::base::Timestamp;
use dohle::io::Clock;
use dohle::log::Faults;
use std::sync::atomic::Ordering;

const TEN_YEARS_MS: i64 = 10 * 365 * 86_400_000;

/// How the wall clock lies.
#[derive(Clone, Copy, Debug)]
enum Lie {
    Ahead,
    Behind,
    /// Ten years ahead, right, ten years behind, as it comes.
    Strobing,
    Frozen,
}

/// Seconds of the true clock, after which a member beats its heart and the wall clock may show something else.
const STEP: u64 = 10;
/// Steps for which the clock lies, and for which it is right again: fifty minutes, and two hours.
const LYING: usize = 300;
const RIGHT: usize = 720;

struct Member {
    id: String,
    generation: i32,
}

impl World {
    fn join_group(&mut self) -> Member {
        let first = self.machine.ask(&ask::join("readers", "", 45_000), ask::JOIN_GROUP).unwrap();
        let answer = if first.error_code == 79 {
            self.machine.ask(&ask::join("readers", &first.member_id, 45_000), ask::JOIN_GROUP).unwrap()
        } else {
            first
        };
        assert_eq!(answer.error_code, 0);
        let (id, generation) = (answer.member_id.to_string(), answer.generation_id);
        let synced = self.machine.ask(&ask::sync("readers", &id, generation), ask::SYNC_GROUP).unwrap();
        assert_eq!(synced.error_code, 0);
        Member { id, generation }
    }

    fn beat(&mut self, member: &Member, what: &str) {
        let request = ask::heartbeat("readers", &member.id, member.generation);
        let answer = self.machine.ask(&request, ask::HEARTBEAT).unwrap();
        assert_eq!(answer.error_code, 0, "{what}: the member was sent away");
    }

    fn commit_as(&mut self, member: &Member, offset: i64) {
        let request = ask::commit("readers", (&member.id, member.generation), "t0", 0, offset);
        let answer = self.machine.ask(&request, ask::OFFSET_COMMIT).unwrap();
        assert_eq!(answer.topics[0].partitions[0].error_code, 0);
        let key = ("readers", "t0".to_owned(), 0);
        self.model.offsets.insert(key, Known::sure(offset));
    }
}

fn run(lie: Lie, seed: u64, plant: fn(&Faults)) {
    let mut world = World::new(seed);
    plant(&world.machine.faults);
    world.start_and_check();
    world.create("t0", 2, &[("internal.segment.bytes", "4000"), ("flush.ms", "30000")]);
    for _ in 0..8 {
        world.produce("t0", 0, -1, 2, 700);
        world.produce("t0", 1, 1, 2, 700);
    }
    world.commit_offset("others", "t0", 1, 9);
    let member = world.join_group();
    world.commit_as(&member, 7);
    let clock = Clock::Sim(world.machine.clock.clone());
    let began = clock.wall();
    let frozen = began;
    for step in 0..LYING + RIGHT {
        let true_ms = began.0 + i64::try_from(step).unwrap() * i64::try_from(STEP).unwrap() * 1000;
        let shown = if step >= LYING {
            Timestamp(true_ms)
        } else {
            match lie {
                Lie::Ahead => Timestamp(true_ms + TEN_YEARS_MS),
                Lie::Behind => Timestamp(true_ms - TEN_YEARS_MS),
                Lie::Strobing => {
                    let sign = i64::try_from(world.random.below(3)).unwrap() - 1;
                    Timestamp(true_ms + sign * TEN_YEARS_MS)
                }
                Lie::Frozen => frozen,
            }
        };
        world.machine.clock.set_wall(shown);
        world.idle(STEP);
        world.beat(&member, &format!("{lie:?} at step {step}"));
        if step == LYING / 2 {
            world.commit_as(&member, 8);
            world.commit_offset("others", "t0", 0, 10);
        }
    }
    world.check_all();
    for partition in [0, 1] {
        let seen = world.read("t0", partition).unwrap();
        assert_eq!(seen.start, 0, "{lie:?}: records of t0-{partition} were deleted early");
    }
    world.same_batch_again(lie);
    world.machine.stop();
    world.start_and_check();
}

impl World {
    /// The producer of a partition sends its last batch once more: it is known, and not taken twice.
    fn same_batch_again(&mut self, lie: Lie) {
        let last = self.partition("t0", 0).batches.last().unwrap().clone();
        let answer = self.send_last_again("t0", 0, last.count);
        assert_eq!(answer, (0, last.base), "{lie:?}: the producer was forgotten");
    }
}

#[test]
fn a_wall_clock_that_lies_deletes_nothing_and_sends_nobody_away() {
    let rounds = crate::number("SIM_CLOCKS").unwrap_or(1);
    for seed in 0..rounds {
        for lie in [Lie::Ahead, Lie::Behind, Lie::Strobing, Lie::Frozen] {
            run(lie, seed, |_| {});
        }
    }
}

#[test]
fn ages_judged_by_the_bare_wall_clock_are_noticed() {
    let plant: fn(&Faults) = |faults| faults.judge_by_wall.store(true, Ordering::Relaxed);
    assert!(std::panic::catch_unwind(|| run(Lie::Ahead, 1, plant)).is_err());
}
