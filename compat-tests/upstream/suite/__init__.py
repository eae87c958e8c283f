"""Apache Kafka's own integration tests against a broker process, judged beside Kafka's own result."""
