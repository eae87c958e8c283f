import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Apache Kafka's command-line programs, one after the other in one JVM, because a JVM takes longer to start than most of
 * them take. Run as a source file.
 *
 * <p>A line in is a list of strings, the class and its arguments; a line out is an object with {@code code}, the exit code,
 * and {@code text}, what the program printed on both outputs.
 */
public final class Tools {
    private static final class Exited extends Error {
        final int code;
        final int printed;

        Exited(int code, int printed) {
            super("exit " + code, null, false, false);
            this.code = code;
            this.printed = printed;
        }
    }

    private static ByteArrayOutputStream printed;
    private static Exited ended;

    public static void main(String[] args) throws Exception {
        ObjectMapper json = new ObjectMapper();
        PrintStream out = System.out;
        PrintStream errors = System.err;
        // The first end counts: what a program does with it is not for those who read what it printed.
        Exit.Procedure end = (code, message) -> {
            System.out.flush();
            ended = ended == null ? new Exited(code, printed.size()) : ended;
            throw ended;
        };
        Exit.setExitProcedure(end);
        Exit.setHaltProcedure(end);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = json.readValue(line, String[].class);
            printed = new ByteArrayOutputStream();
            ended = null;
            PrintStream both = new PrintStream(printed, true, StandardCharsets.UTF_8);
            System.setOut(both);
            System.setErr(both);
            int code = run(words[0], Arrays.copyOfRange(words, 1, words.length));
            System.setOut(out);
            System.setErr(errors);
            int size = ended == null ? printed.size() : ended.printed;
            String text = new String(printed.toByteArray(), 0, size, StandardCharsets.UTF_8);
            out.println(json.writeValueAsString(Map.of("code", ended == null ? code : ended.code, "text", text)));
            out.flush();
        }
    }

    private static int run(String name, String[] args) throws ReflectiveOperationException {
        try {
            Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) args);
            return 0;
        } catch (InvocationTargetException thrown) {
            if (ended == null) {
                // As the JVM does with what a main method throws.
                thrown.getCause().printStackTrace(System.err);
            }
            return 1;
        }
    }
}
