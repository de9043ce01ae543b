// Weka's ReliefF on the table args[0] with args[1] neighbours. "fit" on standard input prints the weights,
// "clock" the CPU nanoseconds of this thread.

import java.io.BufferedReader;
import java.io.FileReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import weka.attributeSelection.ReliefFAttributeEval;
import weka.core.Instances;

public class WekaRelief {
    public static void main(String[] args) throws Exception {
        Instances table = new Instances(new BufferedReader(new FileReader(args[0])));
        table.setClassIndex(table.numAttributes() - 1);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
        for (String request = requests.readLine(); request != null; request = requests.readLine()) {
            if (request.equals("clock")) {
                System.out.println(ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime());
            } else {
                System.out.println(weights(table, Integer.parseInt(args[1])));
            }
        }
    }

    private static String weights(Instances table, int neighbours) throws Exception {
        ReliefFAttributeEval evaluator = new ReliefFAttributeEval();
        evaluator.setNumNeighbours(neighbours);
        evaluator.buildEvaluator(table);
        StringBuilder weights = new StringBuilder();
        for (int feature = 0; feature < table.numAttributes() - 1; feature++) {
            weights.append(evaluator.evaluateAttribute(feature)).append(' ');
        }
        return weights.toString();
    }
}
