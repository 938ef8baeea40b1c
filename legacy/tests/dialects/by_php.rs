//! by_php
