# Shortcuts for those who have just (https://just.systems); nothing needs it.

# What CI runs: everything that has to pass.
check:
    scripts/test.sh

# The service on the example library.
run *arguments:
    cargo run --release -- --docs examples/library {{arguments}}

# Tests whose name contains NAME.
test name:
    cargo test --test it -- {{name}}

# Writes from the tables in the code: the example files, the tables of settings and providers, the options in the contract.
generate:
    UPDATE=1 cargo test --lib generated_files
    FATHOM_UPDATE_CONTRACT=1 cargo test --test it -- contract::document::the_options

# Whole runs and the service, measured against simulated servers.
bench:
    cargo bench --bench runs
    cargo bench --bench service

# Three replicas, disturbed at random for five minutes.
soak:
    cargo test --test soak -- --seconds 300 --runs 100
