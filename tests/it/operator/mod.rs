//! What an operator does and meets: orders from the command line, upgrades, a database that misbehaves, retention.

mod audit;
mod checks;
mod command_line;
mod evaluation;
mod judging;
mod keys;
mod protocol;
mod retention;
mod runs;
mod starts;
mod storage;
mod trouble;
mod unwritable;
mod upgrades;
mod usage;
