//! by_python
