//! by_java
