import io.delta.storage.HadoopFileSystemLogStore;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.util.Arrays;
import java.util.Iterator;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Writes the files of Delta's logs to S3 by conditional writes: of several writers of a version one succeeds.
 *
 * Delta's own log store for S3 looks whether the file is there and then writes it, which two processes may do
 * at once. Each file carries the id of its writer: where the answer to a request was lost, the client sends it
 * again and is refused by its own file.
 */
public class ConditionalLogStore extends HadoopFileSystemLogStore {
    public ConditionalLogStore(Configuration conf) {
        super(conf);
    }

    public void write(Path path, Iterator actions, Boolean overwrite, Configuration conf) throws IOException {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        while (actions.hasNext()) {
            text.write((((String) actions.next()) + "\n").getBytes(StandardCharsets.UTF_8));
        }
        byte[] writer = UUID.randomUUID().toString().getBytes(StandardCharsets.UTF_8);
        FileSystem files = path.getFileSystem(conf);
        FSDataOutputStreamBuilder builder = files.createFile(path).create().overwrite(overwrite.booleanValue());
        builder.opt("fs.s3a.create.header.writer", new String(writer, StandardCharsets.UTF_8));
        if (!overwrite.booleanValue()) {
            builder.must("fs.option.create.conditional.overwrite", true);
        }
        FSDataOutputStream stream = (FSDataOutputStream) builder.build();
        try {
            // The object comes into being when the stream is closed, as a whole.
            stream.write(text.toByteArray());
            stream.close();
        } catch (IOException error) {
            if (overwrite.booleanValue() || !files.exists(path)) {
                throw error;
            }
            if (!Arrays.equals(writer, files.getXAttr(path, "header.writer"))) {
                throw new FileAlreadyExistsException(path.toString());
            }
        }
    }

    public Boolean isPartialWriteVisible(Path path, Configuration conf) {
        return Boolean.FALSE;
    }
}
