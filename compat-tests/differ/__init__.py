"""R12: the same requests, as bytes, to Apache Kafka and to Dohle; what they answer and what is then to be seen must be the same."""
