//! by_csharp_and_go
