/**
 * What `import … from 'holdfast/simulator'` loads: the sources in a clone, what was built from them
 * in an installed package. index.mjs says why.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { refuseOldNode } from './bin/needed-node.mjs'

refuseOldNode()

const sources = new URL('src/simulator/index.ts', import.meta.url)
const entry = existsSync(sources) ? './src/simulator/index.ts' : './dist/simulator/index.js'

export const { createGitHubSimulator, sendWebhooks, serveSimulator } = createRequire(
  import.meta.url,
)(entry)
