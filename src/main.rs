//! Hands over to the command line; nothing else.

fn main() -> std::process::ExitCode {
    fathom::cli::main()
}
