//! What every subcommand understands.

use super::exit::{Exit, Failure};
use super::server::{Node, Server};

/// What every subcommand understands.
#[derive(Debug, clap::Args)]
pub(super) struct GlobalOptions {
    /// The Redis to use: redis://, rediss:// or redis+unix://; several of them, or ?cluster=true, for a cluster (for
    /// `run --protocol redlock`: for as many independent masters)
    #[arg(long, global = true, value_name = "URL", env = "REDIS_URL", hide_env_values = true, value_delimiter = ',')]
    redis: Vec<String>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
}

impl GlobalOptions {
    /// Whether a Redis was chosen.
    pub(super) fn names_a_server(&self) -> bool {
        !self.redis.is_empty()
    }

    /// The independent masters that were chosen.
    pub(super) fn masters(&self) -> Result<Server, Failure> {
        let nodes = self.nodes()?;
        match nodes.iter().find(|node| node.is_of_cluster()) {
            Some(node) => Err(misnamed(format_args!(
                "{node} is a node of a cluster: this lock needs masters that know nothing of each other"
            ))),
            None if nodes.is_empty() => self.server(),
            None => Ok(Server::Masters(nodes)),
        }
    }

    fn nodes(&self) -> Result<Vec<Node>, Failure> {
        self.redis.iter().map(|url| url.parse()).collect::<Result<_, _>>().map_err(misnamed)
    }

    /// The Redis that was chosen.
    pub(super) fn server(&self) -> Result<Server, Failure> {
        let nodes = self.nodes()?;
        match nodes.as_slice() {
            [] => Err(misnamed(
                "which Redis? Name it with --redis redis://127.0.0.1:6379 or in the environment variable REDIS_URL",
            )),
            [node] if !node.is_of_cluster() => Ok(Server::Single(Box::new(node.clone()))),
            all => match all.iter().find(|node| node.is_local()) {
                Some(node) => Err(misnamed(format_args!(
                    "{node} cannot be a node of a cluster: name its nodes by redis:// or rediss:// addresses"
                ))),
                None => Ok(Server::Cluster(nodes)),
            },
        }
    }

    /// Where several addresses are several independent servers: those. They are one cluster if one of them says so.
    pub(super) fn servers(&self) -> Result<Vec<Server>, Failure> {
        let nodes = self.nodes()?;
        if nodes.iter().any(Node::is_of_cluster) {
            return Ok(vec![self.server()?]);
        }
        Ok(nodes.into_iter().map(|node| Server::Single(Box::new(node))).collect())
    }
}

fn misnamed(sentence: impl ToString) -> Failure {
    Failure::new(Exit::Usage, sentence)
}
