//! What the cluster has agreed on: topics, partitions, configs, brokers, features.
//!
//! Promises: the current image is always the result of applying Kafka's own metadata records in the order of
//! the metadata log; a command's answer comes after its records are durable and the image shows them.
//! Never: partition data, reactions. It publishes; others react.
//! Called by: `replica/` (watches images), `broker/` (reads images, sends commands), `server/` (opens it).

pub mod controller;
pub mod controller_client;
pub mod delta;
pub mod effective;
mod error;
pub mod image;
pub mod publish;
pub mod records;
pub mod source;
#[cfg(any(test, feature = "fuzz"))]
pub mod testing;

pub use controller::Refusal;
pub use controller::command;
pub use controller::turn::Applied;
pub use controller_client::ControllerClient;
pub use delta::Delta;
pub use error::Error;
pub use image::ConfigResource;
pub use image::Image;
pub use image::Partition;
pub use image::ResourceType;
pub use image::Topic;
pub use publish::Publisher;
pub use source::local::Local;
pub use source::local::Opening;
