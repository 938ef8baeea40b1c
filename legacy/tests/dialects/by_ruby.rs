//! by_ruby
