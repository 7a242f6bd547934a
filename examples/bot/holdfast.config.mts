/** What the bot and the server both go by. The bot claims: no webhook starts a run in the server. */
import { defineConfig } from 'holdfast'

export default defineConfig({
  dataDir: './data',
  runs: { review: { on: {}, rerunOn: {} } },
})
