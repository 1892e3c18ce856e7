//! A Kubernetes API server in one process, over HTTP, for kubectl.

use std::error::Error;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use k8s_embedded_apiserver::http::{Certificate, Front, Kubeconfig, KubeconfigFile};
use k8s_embedded_apiserver::{EmbeddedApiServer, User, parse_token_file};
use tokio::net::TcpListener;

/// A Kubernetes API server in one process, for kubectl and for trying things out.
///
/// Keeps everything in memory and forgets it at the end. Speaks plain HTTP, or HTTPS with --tls.
/// Prints its URL on the first line of the standard output. Ends on Ctrl-C and SIGTERM.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:0", value_parser = parse_address)]
    listen: SocketAddr,

    /// Writes a kubeconfig there, and removes it at the end. A file that another program wrote is left alone.
    #[arg(long, value_name = "PATH")]
    kubeconfig: Option<PathBuf>,

    /// Speaks HTTPS, and HTTP/2, with a certificate made for it; the kubeconfig has its authority.
    #[arg(long)]
    tls: bool,

    /// Users by their bearer tokens: lines of token,user,uid,"group1,group2", as kube-apiserver reads them.
    ///
    /// Without it everybody is the user admin of the group system:masters, whatever token they show (but that of a
    /// service account). With it who shows no token is system:anonymous, and unknown tokens are refused.
    #[arg(long, value_name = "PATH")]
    token_auth_file: Option<PathBuf>,

    /// Whether who shows no token is let in as system:anonymous, given a token file.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set, requires = "token_auth_file")]
    anonymous_auth: bool,

    /// What users may do who are not in the group system:masters.
    #[arg(long, value_enum, value_name = "MODE", default_value_t = AuthorizationMode::Rbac)]
    authorization_mode: AuthorizationMode,

    /// Issuer of the tokens of service accounts, and whom they are for by default.
    #[arg(long, value_name = "URL")]
    service_account_issuer: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AuthorizationMode {
    /// What their roles allow.
    #[value(name = "RBAC")]
    Rbac,
    /// Everything.
    #[value(name = "AlwaysAllow")]
    AlwaysAllow,
}

/// The server that the arguments describe.
fn server(arguments: &Arguments) -> Result<EmbeddedApiServer, Box<dyn Error>> {
    let mut builder =
        EmbeddedApiServer::builder().rbac(arguments.authorization_mode == AuthorizationMode::Rbac);
    if let Some(issuer) = &arguments.service_account_issuer {
        builder = builder.service_account_issuer(issuer);
    }
    if let Some(path) = &arguments.token_auth_file {
        let failed = |source| TokenFile {
            path: path.clone(),
            source,
        };
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.into()))?;
        for (token, user) in parse_token_file(&text).map_err(|error| failed(error.into()))? {
            builder = builder.token(token, user);
        }
        builder = builder.default_user(arguments.anonymous_auth.then(User::anonymous));
    }
    Ok(builder.build())
}

#[derive(Debug, thiserror::Error)]
#[error("cannot read {} (--token-auth-file)", path.display())]
struct TokenFile {
    path: PathBuf,
    source: Box<dyn Error>,
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "expected an IP address and a port, such as 127.0.0.1:8080 or [::1]:0".into())
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut text = error.to_string();
            let mut source = error.source();
            while let Some(cause) = source {
                text = format!("{text}: {cause}");
                source = cause.source();
            }
            eprintln!("error: {text}");
            ExitCode::FAILURE
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} (--listen)")]
struct ListenError {
    address: SocketAddr,
    source: io::Error,
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let server = server(arguments)?;
        // Before anything is said, so that a signal right after it is not lost.
        let interrupted = interruption()?;
        let address = arguments.listen;
        let listener = TcpListener::bind(address)
            .await
            .map_err(|source| ListenError { address, source })?;
        let address = listener.local_addr()?;
        let mut front = Front::new(server);
        let mut kubeconfig = Kubeconfig::new(address);
        let mut url = format!("http://{address}");
        if arguments.tls {
            let certificate = Certificate::for_address(address)?;
            front = front.certificate(&certificate);
            kubeconfig = kubeconfig.certificate(&certificate);
            url = format!("https://{address}");
        }
        let file = arguments
            .kubeconfig
            .as_ref()
            .map(|path| KubeconfigFile::write(path, kubeconfig))
            .transpose()?;
        announce(
            &url,
            address,
            file.as_ref(),
            arguments.token_auth_file.is_none(),
        )?;
        let outcome = front.serve(listener, interrupted).await;
        if let Some(file) = file {
            file.remove()?;
        }
        Ok(outcome?)
    })
}

/// The URL goes to the standard output alone, for programs; the rest is for people.
fn announce(
    url: &str,
    address: SocketAddr,
    file: Option<&KubeconfigFile>,
    open: bool,
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{url}")?;
    out.flush()?;
    let target = match file {
        Some(file) => format!("--kubeconfig {}", file.path().display()),
        None => format!("--server {url}"),
    };
    eprintln!("Try: kubectl {target} get namespaces");
    if open && !address.ip().is_loopback() {
        eprintln!("warning: whoever can reach {address} may do everything here");
    }
    Ok(())
}

/// Ends on Ctrl-C, and on SIGTERM where there is one.
#[cfg(unix)]
fn interruption() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Ends on Ctrl-C.
#[cfg(not(unix))]
fn interruption() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        // Without a handler there is nothing to wait for.
        let _ = tokio::signal::ctrl_c().await;
    })
}
