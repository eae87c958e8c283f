//! A group of many members: how long it takes until all have joined, one has left, and some were started anew.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use crate::args::{Args, Result};
use crate::clock::now_ns;
use crate::conn::Conn;
use crate::process::cpu_seconds;
use crate::wire::groups as wire;

const UNKNOWN_MEMBER_ID: i16 = 25;
const REBALANCE_IN_PROGRESS: i16 = 27;
const LIMIT_NS: u64 = 120_000_000_000;
/// How many members the rolling restart starts anew.
const RESTARTS: usize = 20;

/// What a member has: its generation or epoch, and how many partitions.
type Place = Option<(i32, usize)>;

struct Board {
    places: Mutex<Vec<Place>>,
    gone: Vec<AtomicBool>,
    failed: Mutex<Option<String>>,
}

impl Board {
    fn say(&self, number: usize, place: Place) {
        if let Ok(mut places) = self.places.lock() {
            places[number] = place;
        }
    }

    /// Whether all living members are in one generation and share all partitions.
    fn is_stable(&self, partitions: usize) -> bool {
        let Ok(places) = self.places.lock() else { return false };
        let living = places.iter().enumerate().filter(|(number, _)| !self.gone[*number].load(SeqCst));
        let mut generation = None;
        let mut sum = 0;
        for (_, place) in living {
            let Some((mine, count)) = place else { return false };
            if *generation.get_or_insert(*mine) != *mine {
                return false;
            }
            sum += count;
        }
        sum == partitions
    }

    fn wait(&self, partitions: usize) -> Result<()> {
        let start = now_ns();
        while !self.is_stable(partitions) {
            if let Some(error) = self.failed.lock().map_err(|_| "a member panicked")?.take() {
                return Err(error.into());
            }
            if now_ns() - start > LIMIT_NS {
                return Err("the group does not become stable".into());
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        Ok(())
    }
}

/// Joins with `--connections` members, lets one leave, and starts some anew; prints the seconds of each.
pub fn run(args: &Args) -> Result<String> {
    let mut conn = Conn::open(&args.boot)?;
    let group = &args.topic;
    while wire::error(conn.call(&wire::find_coordinator(group))?)? != 0
        || wire::error(conn.call(&wire::heartbeat(group, 0, "nobody"))?)? != UNKNOWN_MEMBER_ID
    {
        std::thread::sleep(Duration::from_millis(20));
    }
    let all = args.connections + RESTARTS;
    let board = Board {
        places: Mutex::new(vec![None; all]),
        gone: (0..all).map(|_| AtomicBool::new(true)).collect(),
        failed: Mutex::new(None),
    };
    std::thread::scope(|scope| {
        let begin = |number: usize| {
            board.gone[number].store(false, SeqCst);
            let board = &board;
            scope.spawn(move || {
                if let Err(error) = member(args, board, number)
                    && let Ok(mut failed) = board.failed.lock()
                {
                    failed.get_or_insert(format!("member {number}: {error}"));
                }
            });
        };
        let measured = measure(args, &board, begin);
        board.gone.iter().for_each(|gone| gone.store(true, SeqCst));
        measured
    })
}

fn measure(args: &Args, board: &Board, begin: impl Fn(usize)) -> Result<String> {
    let (cpu, start) = (cpu_seconds(args.pid)?, now_ns());
    (0..args.connections).for_each(&begin);
    board.wait(args.partitions)?;
    let joined = now_ns();
    board.gone[0].store(true, SeqCst);
    board.wait(args.partitions)?;
    let left = now_ns();
    for number in 0..RESTARTS {
        board.gone[number + 1].store(true, SeqCst);
        begin(args.connections + number);
        board.wait(args.partitions)?;
    }
    let ended = now_ns();
    let seconds = |from: u64, to: u64| (to - from) as f64 / 1e9;
    Ok(format!(
        "{{\"join_s\":{:.4},\"leave_s\":{:.4},\"restart_s\":{:.4},\"cpu_s\":{:.4}}}",
        seconds(start, joined),
        seconds(joined, left),
        seconds(left, ended) / RESTARTS as f64,
        cpu_seconds(args.pid)? - cpu,
    ))
}

fn member(args: &Args, board: &Board, number: usize) -> Result<()> {
    let conn = Conn::open(&args.boot)?;
    match args.protocol.as_str() {
        "classic" => classic(args, board, number, conn),
        "consumer" => consumer(args, board, number, conn),
        other => Err(format!("no group protocol {other}").into()),
    }
}

fn classic(args: &Args, board: &Board, number: usize, mut conn: Conn) -> Result<()> {
    let group = &args.topic;
    let mut id = String::new();
    let gone = || board.gone[number].load(SeqCst);
    while !gone() {
        let joined = wire::joined(conn.call(&wire::join(group, &id, &args.topic))?)?;
        id.clone_from(&joined.member);
        if joined.error == REBALANCE_IN_PROGRESS {
            continue;
        }
        check("join", joined.error)?;
        let (error, count) =
            wire::synced(conn.call(&wire::sync(group, &joined, &args.topic, args.partitions))?)?;
        if error == REBALANCE_IN_PROGRESS {
            continue;
        }
        check("sync", error)?;
        board.say(number, Some((joined.generation, count)));
        while !gone() {
            pause(args, gone);
            let error = wire::error(conn.call(&wire::heartbeat(group, joined.generation, &id))?)?;
            if error == REBALANCE_IN_PROGRESS {
                break;
            }
            check("heartbeat", error)?;
        }
        board.say(number, None);
    }
    check("leave", wire::error(conn.call(&wire::leave(group, &id))?)?)
}

fn consumer(args: &Args, board: &Board, number: usize, mut conn: Conn) -> Result<()> {
    let (group, id) = (&args.topic, format!("member-{number}"));
    let gone = || board.gone[number].load(SeqCst);
    let mut epoch = 0;
    let mut owned: Option<wire::Owned> = Some(Vec::new());
    let mut count = 0;
    while !gone() {
        let beat = wire::consumer_heartbeat(group, &id, epoch, &args.topic, owned.as_ref());
        let beaten = wire::consumer_beaten(conn.call(&beat)?)?;
        check("heartbeat", beaten.error)?;
        epoch = beaten.epoch;
        owned = beaten.assigned;
        if let Some(assigned) = &owned {
            count = assigned.iter().map(|(_, partitions)| partitions.len()).sum();
        }
        board.say(number, Some((epoch, count)));
        // What was assigned or taken is confirmed at once.
        if owned.is_none() {
            pause(args, gone);
        }
    }
    board.say(number, None);
    let beat = wire::consumer_heartbeat(group, &id, -1, &args.topic, None);
    check("leave", wire::consumer_beaten(conn.call(&beat)?)?.error)
}

/// Until the next heartbeat, or until the member is to go.
fn pause(args: &Args, gone: impl Fn() -> bool) {
    let end = now_ns() + args.wait_ms as u64 * 1_000_000;
    while now_ns() < end && !gone() {
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn check(what: &str, error: i16) -> Result<()> {
    if error == 0 { Ok(()) } else { Err(format!("{what}: error code {error}").into()) }
}
