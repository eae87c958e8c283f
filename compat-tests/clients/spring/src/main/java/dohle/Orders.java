package dohle;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.kafka.annotation.BackOff;
import org.springframework.kafka.annotation.DltHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.requestreply.ReplyingKafkaTemplate;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.messaging.handler.annotation.SendTo;

/**
 * A shop: orders become invoices in transactions, payments are tried again through retry topics, questions are
 * answered, events are read in batches. Numbers that end in 3 fail at first, those that end in 7 always.
 */
@SpringBootApplication
public class Orders {
    static final int COUNT = Integer.getInteger("count", 60);
    private final KafkaTemplate<String, String> plain;
    private final KafkaTemplate<String, String> transacted;
    private final Map<String, Integer> tries = new ConcurrentSkipListMap<>();
    private final Map<Integer, Integer> invoices = new ConcurrentSkipListMap<>();
    private final Map<Integer, String> deadOrders = new ConcurrentSkipListMap<>();
    private final Map<Integer, Integer> payments = new ConcurrentSkipListMap<>();
    private final Map<Integer, Integer> deadPayments = new ConcurrentSkipListMap<>();
    private final ConcurrentSkipListSet<Integer> events = new ConcurrentSkipListSet<>();

    Orders(@Qualifier("plain") KafkaTemplate<String, String> plain, @Qualifier("transacted") KafkaTemplate<String, String> transacted) {
        this.plain = plain;
        this.transacted = transacted;
    }

    public static void main(String[] args) throws Exception {
        ConfigurableApplicationContext context = SpringApplication.run(Orders.class, args);
        Map<String, Object> result = context.getBean(Orders.class).trade(context.getBean(ReplyingKafkaTemplate.class));
        System.out.println("result " + new ObjectMapper().writeValueAsString(result));
        context.close();
        System.exit(0);
    }

    private Map<String, Object> trade(ReplyingKafkaTemplate<String, String, String> asking) throws Exception {
        for (int n = 0; n < COUNT; n++) {
            plain.send("orders", String.valueOf(n), String.valueOf(n)).get(60, TimeUnit.SECONDS);
            plain.send("payments", String.valueOf(n), String.valueOf(n));
            plain.send("events", String.valueOf(n));
        }
        plain.flush();
        boolean torn = false;
        try {
            transacted.executeInTransaction(in -> {
                for (int n = 0; n < 5; n++) in.send("invoices", "torn", "-1");
                in.flush();
                throw new IllegalStateException("not this time");
            });
        } catch (IllegalStateException expected) {
            torn = true;
        }
        transacted.executeInTransaction(in -> in.send("invoices", "whole", String.valueOf(COUNT)));
        List<String> answers = new ArrayList<>();
        for (int n = 0; n < 5; n++) {
            answers.add(asking.sendAndReceive(new ProducerRecord<>("questions", "q", "how much is " + n)).get(60, TimeUnit.SECONDS).value());
        }
        int bad = (COUNT + 2) / 10;
        until("invoices", () -> invoices.size() >= COUNT - bad + 1);
        until("dead orders", () -> deadOrders.size() >= bad);
        until("payments", () -> payments.size() >= COUNT - bad);
        until("dead payments", () -> deadPayments.size() >= bad);
        until("events", () -> events.size() >= COUNT);
        Map<String, Object> result = new TreeMap<>();
        result.put("torn", torn);
        result.put("answers", answers);
        result.put("invoices", invoices);
        result.put("deadOrders", deadOrders);
        result.put("payments", payments);
        result.put("deadPayments", deadPayments);
        result.put("events", events);
        return result;
    }

    private static void until(String what, BooleanSupplier reached) throws InterruptedException {
        long limit = System.nanoTime() + 120_000_000_000L;
        while (!reached.getAsBoolean()) {
            if (System.nanoTime() > limit) throw new IllegalStateException("not all of the " + what + " came");
            Thread.sleep(20);
        }
    }

    /** Fails as the number asks for. */
    private void stumble(String what, String value) {
        int turn = tries.merge(what + value, 1, Integer::sum);
        if (value.endsWith("7") || (value.endsWith("3") && turn == 1)) throw new IllegalArgumentException(what + " " + value);
    }

    @KafkaListener(id = "billing", topics = "orders", concurrency = "2", containerFactory = "inTransactions")
    void order(String value) {
        transacted.send("invoices", value, value).join();
        stumble("order", value);
    }

    @KafkaListener(id = "books", topics = "invoices", properties = "isolation.level=read_committed")
    void invoice(String value) {
        invoices.merge(Integer.valueOf(value), 1, Integer::sum);
        System.out.println("invoiced " + value);
    }

    @KafkaListener(id = "complaints", topics = "orders-dlt", properties = "isolation.level=read_committed")
    void deadOrder(ConsumerRecord<String, String> order) {
        deadOrders.put(Integer.valueOf(order.value()), new String(order.headers().lastHeader("kafka_dlt-original-topic").value()));
    }

    @RetryableTopic(attempts = "3", backOff = @BackOff(delay = 200, multiplier = 2), numPartitions = "2", kafkaTemplate = "plain")
    @KafkaListener(id = "cashier", topics = "payments")
    void payment(String value) {
        stumble("payment", value);
        payments.merge(Integer.valueOf(value), 1, Integer::sum);
    }

    @DltHandler
    void deadPayment(String value) {
        deadPayments.put(Integer.valueOf(value), tries.get("payment" + value));
    }

    @KafkaListener(id = "support", topics = "questions")
    @SendTo
    String question(String value) {
        return "the answer to " + value;
    }

    @KafkaListener(id = "archive", topics = "events", batch = "true", properties = "max.poll.records=20", containerFactory = "byHand")
    void event(List<String> values, Acknowledgment done) {
        values.forEach(value -> events.add(Integer.valueOf(value)));
        done.acknowledge();
    }
}
