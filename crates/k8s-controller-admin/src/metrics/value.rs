//! The value of counters and gauges, by one name.
//!
//! Their accessor is called `get_value`, or `value` if somebody else in the program has turned on the feature
//! `protobuf` of the `prometheus` crate (it is one of its default features). Each trait here names the accessor that
//! the type lacks, in terms of the one that it has; a type's own method comes before a trait's.

use prometheus::proto::{Counter, Gauge};

#[allow(dead_code, reason = "used without the feature `protobuf`")]
pub(super) trait Value {
    fn value(&self) -> f64;
}

#[allow(dead_code, reason = "used with the feature `protobuf`")]
trait GetValue {
    fn get_value(&self) -> f64;
}

impl Value for Counter {
    fn value(&self) -> f64 {
        self.get_value()
    }
}

impl GetValue for Counter {
    fn get_value(&self) -> f64 {
        self.value()
    }
}

impl Value for Gauge {
    fn value(&self) -> f64 {
        self.get_value()
    }
}

impl GetValue for Gauge {
    fn get_value(&self) -> f64 {
        self.value()
    }
}
