//! by_node
