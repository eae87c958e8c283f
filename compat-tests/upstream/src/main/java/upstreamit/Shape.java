package upstreamit;

import java.util.TreeSet;

/** What the cluster of the current test was made of, for the report. */
final class Shape {
    private static boolean any;
    private static final TreeSet<String> PROTOCOLS = new TreeSet<>();
    private static boolean authorizer;
    private static boolean fresh;

    private Shape() { }

    /** The next node added begins a new description. */
    static synchronized void next() {
        fresh = true;
    }

    static synchronized void add(String listenerMap, boolean withAuthorizer) {
        if (fresh) {
            PROTOCOLS.clear();
            authorizer = false;
            fresh = false;
        }
        any = true;
        authorizer |= withAuthorizer;
        for (String s : listenerMap.split(",")) {
            String p = s.substring(s.lastIndexOf(':') + 1).trim();
            if (!p.isEmpty() && !p.equals("PLAINTEXT") && !s.toUpperCase(java.util.Locale.ROOT).startsWith("CONTROLLER")) PROTOCOLS.add(p);
        }
    }

    static synchronized String text() {
        if (!any) return "-";
        return "1b1c" + (PROTOCOLS.isEmpty() ? "" : " " + String.join("+", PROTOCOLS)) + (authorizer ? " acl" : "");
    }
}
