/**
 * Stands in for GitHub, so that the reviewer can be tried. It opens a pull request as soon as the
 * server answers, and prints what the pull request shows when the run has ended. HOLDFAST_URL is the
 * address of the server, PORT its own port.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { createGitHubSimulator, sendWebhooks, serveSimulator } from 'holdfast/simulator'

const { PORT = '8791', HOLDFAST_URL = 'http://127.0.0.1:8787' } = process.env
const repo = 'acme/widgets'

const github = createGitHubSimulator({ tokens: [{ token: 'ghp_reviewer', login: 'reviewer' }] })
github.addRepository(repo)
const api = await serveSimulator(github, { port: Number(PORT) })
sendWebhooks(github, {
  url: `${HOLDFAST_URL}/webhooks/github`,
  secret: 'reviewer-webhook-secret',
  repo,
})
console.log(`github listening on ${api.url}, for the server at ${HOLDFAST_URL}`)

const isReady = () =>
  fetch(`${HOLDFAST_URL}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  )
while (!(await isReady())) await pause(500)

// Commits of their own, so that a second try is a new pull request for the server, too.
const number = 1 + (randomBytes(2).readUInt16BE() % 9999)
const headSha = randomBytes(20).toString('hex')
const patch = ['@@ -10,3 +10,4 @@ start', ' one', '-two', '+var two', '+debugger', ' three']
github.addPull(repo, {
  ...{ number, headSha, baseSha: randomBytes(20).toString('hex') },
  files: [{ filename: 'src/start.ts', patch: patch.join('\n') }],
})
console.log(`opened #${number}`)

const shown = () => github.latestStatus(repo, headSha, 'acme/review')
const isDone = () =>
  (shown()?.state ?? 'pending') !== 'pending' && github.reviews(repo, number).length > 0
while (!isDone()) await pause(500)
const { state, description } = shown() ?? {}
console.log(`status of #${number}: ${state} (${description})`)
for (const { body, comments } of github.reviews(repo, number)) {
  console.log(`review of #${number}: ${body.split('\n')[0]}`)
  for (const { path, line, body: text } of comments) {
    console.log(`  ${path}:${line}: ${text.split('\n')[0]}`)
  }
}
