// Asks pkg-config where repmath is. No crate is needed for that.
use std::process::Command;

fn main() {
    let output = Command::new("pkg-config")
        .args(["--libs", "repmath"])
        .output()
        .expect("pkg-config is needed to find repmath");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for flag in String::from_utf8(output.stdout).unwrap().split_whitespace() {
        if let Some(dir) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={dir}");
            println!("cargo:rustc-link-arg=-Wl,-rpath,{dir}");
        } else if let Some(lib) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib={lib}");
        }
    }
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
}
