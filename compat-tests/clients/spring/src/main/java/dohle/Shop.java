package dohle;

import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.config.TopicBuilder;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaAdmin;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer;
import org.springframework.kafka.listener.DefaultAfterRollbackProcessor;
import org.springframework.kafka.requestreply.ReplyingKafkaTemplate;
import org.springframework.kafka.transaction.KafkaTransactionManager;
import org.springframework.util.backoff.FixedBackOff;

/** What the shop is made of: topics, producers with and without transactions, and the containers of its listeners. */
@Configuration
class Shop {
    @Value("${spring.kafka.bootstrap-servers}")
    private String bootstrap;

    @Bean
    KafkaAdmin.NewTopics topics() {
        return new KafkaAdmin.NewTopics(Stream.of("orders", "invoices", "orders-dlt", "payments", "questions", "answers", "events")
            .map(name -> TopicBuilder.name(name).partitions(2).replicas(1).build()).toArray(NewTopic[]::new));
    }

    @Bean
    @Primary
    ProducerFactory<String, String> producers() {
        return new DefaultKafkaProducerFactory<>(producerSettings());
    }

    @Bean
    ProducerFactory<String, String> transactions() {
        DefaultKafkaProducerFactory<String, String> factory = new DefaultKafkaProducerFactory<>(producerSettings());
        factory.setTransactionIdPrefix("shop-");
        return factory;
    }

    private Map<String, Object> producerSettings() {
        return new HashMap<>(Map.of(
            ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap,
            ProducerConfig.TRANSACTION_TIMEOUT_CONFIG, 10000,
            ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, StringSerializer.class,
            ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, StringSerializer.class));
    }

    @Bean
    ConsumerFactory<String, String> consumers() {
        return new DefaultKafkaConsumerFactory<>(new HashMap<>(Map.of(
            ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap,
            ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest",
            ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class,
            ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class)));
    }

    @Bean
    @Primary
    KafkaTemplate<String, String> plain(ProducerFactory<String, String> producers) {
        return new KafkaTemplate<>(producers);
    }

    @Bean
    KafkaTemplate<String, String> transacted(@Qualifier("transactions") ProducerFactory<String, String> transactions) {
        return new KafkaTemplate<>(transactions);
    }

    @Bean
    KafkaTransactionManager<String, String> manager(@Qualifier("transactions") ProducerFactory<String, String> transactions) {
        return new KafkaTransactionManager<>(transactions);
    }

    @Bean
    ConcurrentKafkaListenerContainerFactory<String, String> kafkaListenerContainerFactory(
            ConsumerFactory<String, String> consumers, @Qualifier("plain") KafkaTemplate<String, String> plain) {
        ConcurrentKafkaListenerContainerFactory<String, String> factory = new ConcurrentKafkaListenerContainerFactory<>();
        factory.setConsumerFactory(consumers);
        factory.setReplyTemplate(plain);
        return factory;
    }

    /** Each record in a transaction with its offset; what fails for the third time goes to a topic of its own. */
    @Bean
    ConcurrentKafkaListenerContainerFactory<String, String> inTransactions(
            ConsumerFactory<String, String> consumers, KafkaTransactionManager<String, String> manager,
            @Qualifier("transacted") KafkaTemplate<String, String> transacted) {
        ConcurrentKafkaListenerContainerFactory<String, String> factory = new ConcurrentKafkaListenerContainerFactory<>();
        factory.setConsumerFactory(consumers);
        factory.getContainerProperties().setKafkaAwareTransactionManager(manager);
        factory.setAfterRollbackProcessor(new DefaultAfterRollbackProcessor<>(
            new DeadLetterPublishingRecoverer(transacted), new FixedBackOff(20, 2), transacted, true));
        return factory;
    }

    @Bean
    ConcurrentKafkaListenerContainerFactory<String, String> byHand(ConsumerFactory<String, String> consumers) {
        ConcurrentKafkaListenerContainerFactory<String, String> factory = new ConcurrentKafkaListenerContainerFactory<>();
        factory.setConsumerFactory(consumers);
        factory.getContainerProperties().setAckMode(ContainerProperties.AckMode.MANUAL);
        return factory;
    }

    @Bean
    ReplyingKafkaTemplate<String, String, String> asking(
            ProducerFactory<String, String> producers, ConcurrentKafkaListenerContainerFactory<String, String> kafkaListenerContainerFactory) {
        var replies = kafkaListenerContainerFactory.createContainer("answers");
        replies.getContainerProperties().setGroupId("replies");
        return new ReplyingKafkaTemplate<>(producers, replies);
    }
}
