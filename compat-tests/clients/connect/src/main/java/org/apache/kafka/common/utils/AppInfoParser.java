package org.apache.kafka.common.utils;

/** Where connect-file 4.3.1 asks for its version; in 4.4.0 the class is in the package `internals`. */
public final class AppInfoParser {
    private AppInfoParser() {}

    public static String getVersion() {
        return org.apache.kafka.common.utils.internals.AppInfoParser.getVersion();
    }
}
