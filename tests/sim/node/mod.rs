//! The whole node in a glass box: requests go through broker, groups, cluster, replica and log, on the simulated disk
//! and clock, and everything that clients were told is compared with what is there after crashes, faults and damage.

mod check;
mod clock;
mod damage;
mod faults;
mod lines;
mod machine;
mod model;
mod requests;
mod seeds;
mod world;
