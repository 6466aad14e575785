/** kafka-clients from 2.5: what all of them do, and transactions. */
public final class ClientWithTransactions {
    private ClientWithTransactions() {}

    public static void main(String[] arguments) throws InterruptedException {
        Contract.main(arguments, ClientWithTransactions::run);
    }

    private static void run(String command, Contract.Options options, Contract.Control control)
            throws Exception {
        switch (command) {
            case "transact":
                Transactions.transact(options, control);
                break;
            case "transform":
                Transactions.transform(options);
                break;
            default:
                Client.run(command, options, control);
        }
    }
}
