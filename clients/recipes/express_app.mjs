// An Express application that looks up phones. Settings: INDEX_TABLES_URL, INDEX_TABLES_KEY, PORT.
import express from "express";
import { IndexTables, ProblemError } from "index-tables";

const tables = new IndexTables(process.env.INDEX_TABLES_URL, { key: process.env.INDEX_TABLES_KEY });
const app = express();

app.get("/towns/:town/phones", async (request, response) => {
  const found = {};
  for await (const entry of tables.index("customers-by-town").find({ town: request.params.town }, { select: ["phone"] })) {
    found[entry.key.lastName] = entry.data.phone ?? "";
  }
  response.json(found);
});

app.use((error, request, response, next) => {
  if (!(error instanceof ProblemError)) return next(error);
  response.status(502).json({ code: error.code });
});

app.listen(process.env.PORT, "127.0.0.1");
