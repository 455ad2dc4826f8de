//! Where things are kept on each system: a function of the system and its variables, which touches nothing.

use crate::env;

/// Systems that keep things in different places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    /// Linux, and all that is not one of the others.
    Linux,
    /// macOS.
    Mac,
    /// Windows.
    Windows,
}

impl System {
    /// The one that this program was built for.
    pub(crate) const THIS: System = if cfg!(windows) {
        System::Windows
    } else if cfg!(target_os = "macos") {
        System::Mac
    } else {
        System::Linux
    };

    /// A path below a folder, as this system writes it.
    fn below(self, folder: &str, path: &str) -> String {
        match self {
            System::Windows => format!("{}\\{}", folder.trim_end_matches(['\\', '/']), path.replace('/', "\\")),
            System::Linux | System::Mac => format!("{}/{path}", folder.trim_end_matches('/')),
        }
    }

    fn is_absolute(self, path: &str) -> bool {
        match self {
            System::Windows => match path.as_bytes() {
                [drive, b':', b'\\' | b'/', ..] => drive.is_ascii_alphabetic(),
                path => path.starts_with(br"\\"),
            },
            System::Linux | System::Mac => path.starts_with('/'),
        }
    }
}

/// Where things are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folders {
    /// The home directory.
    pub(crate) home: Option<String>,
    /// The user's settings file.
    pub(crate) settings: Option<String>,
    /// The store, unless another is named.
    pub(crate) store: Option<String>,
    /// Claude Code's folders, unless others are named: the usual one, and another that it may have.
    pub(crate) claude: [Option<String>; 2],
    /// Where things are put that last only as long as a run.
    pub(crate) temporary: String,
}

/// Where things are on a system, as its variables say, of which empty ones are unset. XDG's hold everywhere: people set
/// them on purpose.
pub(crate) fn folders<'e>(system: System, variable: impl Fn(&str) -> Option<&'e str>) -> Folders {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let absolute = |name: &str| set(name).filter(|path| system.is_absolute(path)).map(str::to_owned);
    let home = match system {
        // What other programs set as HOME there may be written as on Unix.
        System::Windows => set(env::USERPROFILE).or_else(|| set(env::HOME).filter(|home| system.is_absolute(home))),
        System::Linux | System::Mac => set(env::HOME),
    };
    let in_home = |path: &str| home.map(|home| system.below(home, path));
    let (config, data) = match system {
        System::Linux => (in_home(".config"), in_home(".local/share")),
        System::Mac => (in_home("Library/Application Support"), in_home("Library/Application Support")),
        System::Windows => (
            absolute(env::APPDATA).or_else(|| in_home("AppData/Roaming")),
            absolute(env::LOCALAPPDATA).or_else(|| in_home("AppData/Local")),
        ),
    };
    let xdg_config = absolute(env::XDG_CONFIG_HOME);
    let below = |folder: Option<String>, path: &str| folder.map(|folder| system.below(&folder, path));
    Folders {
        settings: below(xdg_config.clone().or(config), "hotwash/config.toml"),
        store: below(absolute(env::XDG_DATA_HOME).or(data), "hotwash/hotwash.db"),
        claude: [in_home(".claude"), below(xdg_config.or_else(|| in_home(".config")), "claude")],
        temporary: match system {
            System::Windows => absolute(env::TEMP)
                .or_else(|| in_home("AppData/Local/Temp"))
                .unwrap_or_else(|| r"C:\Windows\Temp".into()),
            System::Linux | System::Mac => set(env::TMPDIR).unwrap_or("/tmp").to_owned(),
        },
        home: home.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Case = (System, &'static [(&'static str, &'static str)], [&'static str; 5]);

    /// Settings, store, Claude Code's two folders, the temporary one.
    fn shown(system: System, variables: &[(&str, &'static str)]) -> [String; 5] {
        let folders =
            folders(system, |name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value));
        let Folders { settings, store, claude: [usual, other], temporary, .. } = folders;
        [settings, store, usual, other, Some(temporary)].map(|path| path.unwrap_or_else(|| "-".into()))
    }

    #[test]
    fn each_system_has_its_places() {
        use System::{Linux, Mac, Windows};
        let cases: &[Case] = &[
            (
                Linux,
                &[("HOME", "/home/ann")],
                [
                    "/home/ann/.config/hotwash/config.toml",
                    "/home/ann/.local/share/hotwash/hotwash.db",
                    "/home/ann/.claude",
                    "/home/ann/.config/claude",
                    "/tmp",
                ],
            ),
            (
                Linux,
                &[
                    ("HOME", "/"),
                    ("XDG_CONFIG_HOME", "/c/"),
                    ("XDG_DATA_HOME", "d"),
                    ("TMPDIR", "/t"),
                    ("APPDATA", "/a"),
                ],
                ["/c/hotwash/config.toml", "/.local/share/hotwash/hotwash.db", "/.claude", "/c/claude", "/t"],
            ),
            (Linux, &[("HOME", ""), ("XDG_DATA_HOME", "/d")], ["-", "/d/hotwash/hotwash.db", "-", "-", "/tmp"]),
            (
                Mac,
                &[("HOME", "/Users/ann"), ("TMPDIR", "/var/folders/x/T/")],
                [
                    "/Users/ann/Library/Application Support/hotwash/config.toml",
                    "/Users/ann/Library/Application Support/hotwash/hotwash.db",
                    "/Users/ann/.claude",
                    "/Users/ann/.config/claude",
                    "/var/folders/x/T/",
                ],
            ),
            (
                Mac,
                &[("HOME", "/Users/ann"), ("XDG_CONFIG_HOME", "/Users/ann/.config"), ("XDG_DATA_HOME", "/Volumes/d")],
                [
                    "/Users/ann/.config/hotwash/config.toml",
                    "/Volumes/d/hotwash/hotwash.db",
                    "/Users/ann/.claude",
                    "/Users/ann/.config/claude",
                    "/tmp",
                ],
            ),
            (
                Windows,
                &[
                    ("USERPROFILE", r"C:\Users\ann"),
                    ("HOME", "/c/Users/ann"),
                    ("APPDATA", r"D:\Roaming"),
                    ("LOCALAPPDATA", r"\\server\ann"),
                    ("TEMP", r"D:\Temp"),
                ],
                [
                    r"D:\Roaming\hotwash\config.toml",
                    r"\\server\ann\hotwash\hotwash.db",
                    r"C:\Users\ann\.claude",
                    r"C:\Users\ann\.config\claude",
                    r"D:\Temp",
                ],
            ),
            (
                Windows,
                &[("HOME", r"C:\Users\ann"), ("APPDATA", "/roaming"), ("XDG_DATA_HOME", "E:/data/")],
                [
                    r"C:\Users\ann\AppData\Roaming\hotwash\config.toml",
                    r"E:/data\hotwash\hotwash.db",
                    r"C:\Users\ann\.claude",
                    r"C:\Users\ann\.config\claude",
                    r"C:\Users\ann\AppData\Local\Temp",
                ],
            ),
            (Windows, &[("HOME", "/c/Users/ann")], ["-", "-", "-", "-", r"C:\Windows\Temp"]),
        ];
        for (system, variables, expected) in cases {
            assert_eq!(shown(*system, variables), *expected, "{system:?} {variables:?}");
        }
    }
}
