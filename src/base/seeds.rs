//! How simulations with seeds are run: `SIM_SEEDS=n` runs n seeds of each instead of a few, `SIM_SEED=s` runs seed s
//! alone. A seed that fails is named, and its history is told in as few steps as fail.

use proptest::strategy::Strategy;
use proptest::test_runner::Config;
use proptest::test_runner::RngAlgorithm;
use proptest::test_runner::TestError;
use proptest::test_runner::TestRng;
use proptest::test_runner::TestRunner;
use std::ops::Range;
use std::panic::AssertUnwindSafe;

/// A number in the environment.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// The seeds to run, `count` of them when nobody says otherwise.
pub(crate) fn chosen(count: u64) -> Range<u64> {
    let one = number("SIM_SEED").map(|seed| seed..seed.saturating_add(1));
    one.unwrap_or_else(|| 0..number("SIM_SEEDS").unwrap_or(count))
}

/// Whether one seed is to be told step by step.
pub(crate) fn is_verbose() -> bool {
    number("SIM_SEED").is_some()
}

/// Runs the seeds of `what`, and gives what came out of each.
pub(crate) fn run<T>(what: &str, count: u64, run: impl Fn(u64) -> T) -> Vec<T> {
    let one = |seed| {
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| run(seed)));
        outcome.unwrap_or_else(|panic| {
            println!("seed {seed} of {what} fails; replay with SIM_SEED={seed}");
            std::panic::resume_unwind(panic);
        })
    };
    chosen(count).map(one).collect()
}

/// Whether one of the first `count` seeds fails, as it should with a planted fault.
pub(crate) fn notices<T>(count: u64, run: impl Fn(u64) -> T) -> bool {
    (0..count).any(|seed| std::panic::catch_unwind(AssertUnwindSafe(|| run(seed))).is_err())
}

fn runner(seed: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { failure_persistence: None, max_shrink_iters: 4_000, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// What the seed draws from a strategy.
pub(crate) fn drawn<S: Strategy>(strategy: &S, seed: u64) -> S::Value {
    use proptest::strategy::ValueTree;
    strategy.new_tree(&mut runner(seed)).expect("the strategy draws something").current()
}

/// Runs what the seeds of `what` draw from a strategy.
pub(crate) fn run_drawn<S: Strategy>(what: &str, count: u64, strategy: &S, run: impl Fn(S::Value)) {
    for seed in chosen(count) {
        let mut runner = runner(seed);
        let drawn = strategy.new_tree(&mut runner).expect("the strategy draws something");
        let outcome = runner.run_one(drawn, |value| {
            run(value);
            Ok(())
        });
        match outcome {
            Ok(_) => {}
            Err(TestError::Fail(why, value)) => {
                panic!(
                    "seed {seed} of {what} fails; replay with SIM_SEED={seed}: {why}\nsmallest: {value:#?}"
                )
            }
            Err(error) => panic!("seed {seed} of {what}: {error}"),
        }
    }
}
