/** For the bot and for the server. The bot claims, so no webhook starts a run in the server. */
import { defineConfig } from 'holdfast'

export default defineConfig({
  dataDir: './data',
  runs: { review: { on: {}, rerunOn: {} } },
})
