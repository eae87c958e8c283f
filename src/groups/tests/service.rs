//! The service over real logs: images published by hand, restarts on the same folder.

use super::*;
use crate::base::BrokerId;
use crate::cluster::Image;
use crate::cluster::records::PartitionChangeRecord;
use crate::cluster::records::PartitionRecord;
use crate::cluster::records::RemoveTopicRecord;
use crate::cluster::testing::add_topic;
use crate::groups::Running;
use crate::groups::Service;
use crate::groups::service::TOPIC;
use crate::replica::testing;
use crate::replica::testing::LONG;
use uuid::Uuid;

const NODE: BrokerId = BrokerId(1);

/// A broker without connections.
struct Node {
    node: testing::Node,
    service: Service,
    running: Running,
}

impl std::ops::Deref for Node {
    type Target = testing::Node;
    fn deref(&self) -> &testing::Node {
        &self.node
    }
}

impl Node {
    async fn start(folder: &tempfile::TempDir, image: Image) -> Node {
        let settings = [("node.id", "1"), ("group.initial.rebalance.delay.ms", "0")];
        let config = testing::config(folder.path(), &settings);
        let node = testing::Node::start(Arc::clone(&config), image).await;
        let service = Service::new(&config, node.publisher.clone(), node.clock.clone());
        let replicas = Arc::clone(&node.replicas);
        let running = Running::start(&service, replicas, node.clock.clone(), LONG, &node.shutdown);
        Node { node, service, running }
    }

    async fn stop(self) -> Image {
        self.node.shutdown.trigger();
        self.running.ended().await;
        self.node.end().await;
        self.node.publisher.current().as_ref().clone()
    }

    async fn fetch(&self) -> Result<i64, ErrorCode> {
        let topics = Some(vec![FetchTopic { name: text("t"), id: TopicId::ZERO, partitions: vec![0] }]);
        let fetch =
            Fetch { group: text(GROUP), member_id: None, member_epoch: -1, topics, require_stable: true };
        self.service.fetch(fetch).await.map(|topics| topics[0].partitions[0].offset)
    }

    /// The first answer that is as wanted: what follows an image follows it a moment later.
    async fn fetches(&self, wanted: Result<i64, ErrorCode>) {
        let wait = async {
            while self.fetch().await != wanted {
                tokio::task::yield_now().await;
            }
        };
        self.clock.timeout(LONG, wait).await.expect("the offset is read as wanted");
    }
}

fn id(number: u128) -> TopicId {
    TopicId(Uuid::from_u128(number))
}

fn add(image: &mut Image, name: &str, number: u128, partitions: i32) {
    let placed = |partition| PartitionRecord { directories: vec![Uuid::nil()], ..partition };
    add_topic(image, (name, id(number)), partitions, placed);
}

fn image() -> Image {
    let mut image = Image::empty("cluster");
    add(&mut image, TOPIC, 20, 3);
    add(&mut image, "t", 21, 1);
    image
}

#[tokio::test]
async fn groups_and_offsets_live_through_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder, image()).await;
    let Command::Join(join) = join_as("", Some("i")).build() else { panic!() };
    let joined = node.service.join(*join.clone()).await;
    assert_eq!((joined.error, joined.generation), (ErrorCode::None, 1));
    let Command::Sync(request) = sync(&joined.member_id, 1, vec![(joined.member_id.clone(), part("i"))])
    else {
        panic!()
    };
    assert_eq!(node.service.sync(*request).await.assignment, part("i"));
    for offset in 0..50 {
        let mut request = commit(&joined.member_id, 1);
        request.topics[0].partitions[0].offset = offset;
        assert_eq!(node.service.commit(request).await, Ok(vec![vec![ErrorCode::None]]));
    }
    let image = node.stop().await;
    let node = Node::start(&folder, image).await;
    assert_eq!(node.fetch().await, Ok(49));
    let back = node.service.join(*join).await;
    assert_eq!((back.error, back.generation, back.skip_assignment), (ErrorCode::None, 1, true));
    let Command::Sync(request) = sync(&back.member_id, 1, Vec::new()) else { panic!() };
    assert_eq!(node.service.sync(*request).await.assignment, part("i"));
    let image = node.stop().await;
    let node = Node::start(&folder, image).await;
    let listed = node.service.list(&List::default()).await.unwrap();
    assert_eq!(listed.len(), 1);
    node.stop().await;
}

#[tokio::test]
async fn a_partition_that_is_led_elsewhere_for_a_while_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder, image()).await;
    node.service.commit(commit("", -1)).await.unwrap();
    let index = node.service.partition_of(GROUP);
    for (leader, wanted) in [(BrokerId(2), Err(ErrorCode::NotCoordinator)), (NODE, Ok(5))] {
        let mut change = PartitionChangeRecord::new(id(20), index);
        change.leader = leader;
        node.change(|image| image.apply(&change.into()).unwrap()).await;
        node.fetches(wanted).await;
    }
    node.stop().await;
}

#[tokio::test]
async fn the_topic_may_come_later_and_offsets_of_a_deleted_topic_go() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder, Image::empty("cluster")).await;
    assert_eq!(node.fetch().await, Err(ErrorCode::NotCoordinator));
    node.change(|now| *now = image()).await;
    node.fetches(Ok(-1)).await;
    node.service.commit(commit("", -1)).await.unwrap();
    assert_eq!(node.fetch().await, Ok(5));
    node.change(|image| image.apply(&RemoveTopicRecord { topic_id: id(21) }.into()).unwrap()).await;
    node.fetches(Ok(-1)).await;
    let image = node.stop().await;
    let node = Node::start(&folder, image).await;
    assert_eq!(node.fetch().await, Ok(-1));
    node.stop().await;
}

#[tokio::test]
async fn requests_for_many_groups_are_answered_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder, image()).await;
    let ids: Vec<Arc<str>> = (0..30).map(|number| text(&format!("group-{number}"))).collect();
    for id in ids.iter().step_by(2) {
        node.service.commit(Commit { group: id.clone(), ..commit("", -1) }).await.unwrap();
    }
    let shown = node.service.describe(&ids).await;
    let exists: Vec<bool> = shown.into_iter().map(|one| one.unwrap().is_ok()).collect();
    assert!(exists.iter().enumerate().all(|(place, exists)| *exists == (place % 2 == 0)));
    let codes = node.service.delete(&ids).await;
    for (place, code) in codes.into_iter().enumerate() {
        assert_eq!(code, if place % 2 == 0 { ErrorCode::None } else { ErrorCode::GroupIdNotFound });
    }
    assert!(node.service.list(&List::default()).await.unwrap().is_empty());
    node.stop().await;
}
