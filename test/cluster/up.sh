#!/bin/bash
# A real Slurm cluster (slurmctld, slurmdbd, MariaDB, munge and some slurmd) on one host, as root, without systemd.
# Everything lies in STATE_DIR and listens on the loopback only where the program allows it. Safe to call again: what
# runs already is kept, and two calls at once wait for each other.
#
#   STATE_DIR        where everything lives            (/var/tmp/stint-cluster)
#   NODES            number of virtual nodes           (4)
#   CPUS, MEM_MB     what each node claims to have     (16, 16000)
#   PROCTRACK        auto | cgroup | linuxproc         (auto: cgroup where the v1 freezer and memory controllers are
#                    writable. cgroup kills processes that left the job's tree and gives OUT_OF_MEMORY; linuxproc not)
#   MIN_JOB_AGE      seconds until the controller forgets an ended job                    (10)
#   KILL_WAIT        seconds from TERM to KILL                                            (3)
#   SLURMD_TIMEOUT   seconds until a silent node is down                                  (10)
#   MESSAGE_TIMEOUT  seconds a command waits for an answer                                (10)
#   LIMIT_SWEEP      seconds between the controller's looks for expired time limits. Stock Slurm has 30, compiled in; a
#                    lower value preloads a changed difftime() into slurmctld and needs cc  (2)
#   CRED_EXPIRE      a requeued job may start again this many seconds (+1) later; stock 120  (5)
#   GRACE_TIME       seconds of warning before a job in partition `scav` is requeued      (0)
#   BASE_PORT        first TCP port                    (27817)
#   NODE_PREFIX      of the nodes' names, and so of their cgroups  (n)
#   TEST_USER        the user whose jobs are tested; created when missing                 (alice)
#   INSTALL          1: install missing packages with apt-get, 0: fail instead            (1)
#
# A cluster that runs keeps its settings: call down.sh first to change them. A second one beside it needs a STATE_DIR,
# a BASE_PORT (15 ports or more away) and a NODE_PREFIX of its own.
set -euo pipefail
STATE_DIR=${STATE_DIR:-/var/tmp/stint-cluster}
NODES=${NODES:-4}; CPUS=${CPUS:-16}; MEM_MB=${MEM_MB:-16000}
PROCTRACK=${PROCTRACK:-auto}; MIN_JOB_AGE=${MIN_JOB_AGE:-10}; KILL_WAIT=${KILL_WAIT:-3}
SLURMD_TIMEOUT=${SLURMD_TIMEOUT:-10}; MESSAGE_TIMEOUT=${MESSAGE_TIMEOUT:-10}
LIMIT_SWEEP=${LIMIT_SWEEP:-2}; CRED_EXPIRE=${CRED_EXPIRE:-5}; GRACE_TIME=${GRACE_TIME:-0}
BASE_PORT=${BASE_PORT:-27817}; NODE_PREFIX=${NODE_PREFIX:-n}; TEST_USER=${TEST_USER:-alice}; INSTALL=${INSTALL:-1}
S=$STATE_DIR
CLUSTER=stint

say() { printf 'up [%3ds] %s\n' "$SECONDS" "$*" >&2; }
die() { say "ERROR: $*"; exit 1; }
[ "$(id -u)" = 0 ] || die "must be root"
umask 022
mkdir -p "$S"
# -o: the lock is not handed to the daemons, which would hold it for ever.
if [ "${STINT_CLUSTER_LOCKED:-}" != "$S" ]; then
  STINT_CLUSTER_LOCKED=$S exec flock -o "$S/up.lock" "$0" "$@"
fi

alive() { # NAME COMM: the pid file names a process of that name which is no zombie
  local pid
  pid=$(cat "$S/run/$1.pid" 2>/dev/null) && [ -n "$pid" ] && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ] &&
    ! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null && kill -CONT "$pid" # a test may have stopped it
}
wait_for() { # SECONDS COMMAND...
  local tries=$(($1 * 10)) i
  shift
  for ((i = 0; i < tries; i++)); do "$@" >/dev/null 2>&1 && return 0; sleep 0.1; done
  return 1
}

# --- packages
packages=(slurmctld slurmd slurmdbd slurm-client slurm-wlm-basic-plugins munge mariadb-server)
installed() {
  [ "$(dpkg-query -W -f '${db:Status-Abbrev}\n' "${packages[@]}" 2>/dev/null | grep -c '^ii')" = "${#packages[@]}" ]
}
if ! installed; then
  [ "$INSTALL" = 1 ] || die "Slurm is not installed (needs ${packages[*]}; INSTALL=1 installs them with apt-get)"
  command -v apt-get >/dev/null || die "no apt-get: install ${packages[*]} yourself"
  export DEBIAN_FRONTEND=noninteractive
  apt=(apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -y -qq)
  made_policy=0
  if [ ! -e /usr/sbin/policy-rc.d ]; then # keeps the packages from starting daemons of their own
    printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
    chmod +x /usr/sbin/policy-rc.d
    made_policy=1
  fi
  say "installing ${packages[*]}"
  ok=1
  { "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "${packages[@]}"; } >"$S/apt.log" 2>&1 || ok=0
  [ "$made_policy" = 0 ] || rm -f /usr/sbin/policy-rc.d
  [ "$ok" = 1 ] || { tail -20 "$S/apt.log" >&2; die "apt-get failed, see $S/apt.log"; }
fi

# --- layout
mkdir -p "$S"/{run,log,etc,spool/ctld,mysql,munge}
chmod 755 "$S" "$S"/{run,log,etc,spool,munge}
ctld_port=$BASE_PORT dbd_port=$((BASE_PORT + 2)) sql_port=$((BASE_PORT + 3)) node_port=$((BASE_PORT + 10))
host=$(hostname -s)
getent passwd "$TEST_USER" >/dev/null || useradd -m -s /bin/bash "$TEST_USER"

# --- configuration
if [ "$PROCTRACK" = auto ]; then
  PROCTRACK=linuxproc
  cg=/sys/fs/cgroup
  if grep -q ' - cgroup cgroup .*freezer' /proc/self/mountinfo && grep -q ' - cgroup cgroup .*memory' /proc/self/mountinfo &&
    mkdir "$cg/freezer/slurm-probe.$$" 2>/dev/null && mkdir "$cg/memory/slurm-probe.$$" 2>/dev/null; then
    PROCTRACK=cgroup
  fi
  rmdir "$cg"/{freezer,memory}/slurm-probe.$$ 2>/dev/null || true
fi
if [ "$PROCTRACK" = cgroup ]; then task_plugin=task/cgroup; else task_plugin=task/none; fi
node_lines=
for ((i = 1; i <= NODES; i++)); do
  node_lines+="NodeName=$NODE_PREFIX$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$((node_port + i)) CPUs=$CPUS Boards=1"
  node_lines+=" SocketsPerBoard=1 CoresPerSocket=$CPUS ThreadsPerCore=1 RealMemory=$MEM_MB State=UNKNOWN"$'\n'
done
cat >"$S/etc/slurm.conf.new" <<E
ClusterName=$CLUSTER
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$ctld_port
SlurmdPort=$node_port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$S/munge/munge.socket.2,cred_expire=$CRED_EXPIRE
CredType=cred/munge
StateSaveLocation=$S/spool/ctld
SlurmdSpoolDir=$S/spool/%n
SlurmctldPidFile=$S/run/slurmctld.pid
SlurmdPidFile=$S/run/slurmd-%n.pid
SlurmctldLogFile=$S/log/slurmctld.log
SlurmdLogFile=$S/log/slurmd-%n.log
SlurmctldDebug=verbose
SlurmdDebug=verbose
DebugFlags=NO_CONF_HASH
SwitchType=switch/none
MpiDefault=none
ProctrackType=proctrack/$PROCTRACK
TaskPlugin=$task_plugin
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=250
PropagateResourceLimits=NONE
Prolog=$S/etc/prolog.sh
PrologFlags=Contain
ReturnToService=2
JobRequeue=1
# limits and signals
OverTimeLimit=0
KillWait=$KILL_WAIT
MinJobAge=$MIN_JOB_AGE
InactiveLimit=0
Waittime=0
SlurmctldTimeout=30
SlurmdTimeout=$SLURMD_TIMEOUT
BatchStartTimeout=20
MessageTimeout=$MESSAGE_TIMEOUT
CompleteWait=0
EpilogMsgTime=100
# scheduling at once
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,sched_min_interval=0,batch_sched_delay=0,bf_interval=1,bf_resolution=1,default_queue_depth=1000,bf_max_job_test=1000
PriorityType=priority/multifactor
PriorityWeightPartition=10000
PriorityWeightAge=10
# preemption: "scav" gives way to "high"
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
# accounting
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$dbd_port
AccountingStoragePass=$S/munge/munge.socket.2
AccountingStorageEnforce=associations,limits,qos
AccountingStoreFlags=job_comment,job_env,job_script
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobCompType=jobcomp/none
# nodes and partitions
$node_lines
PartitionName=main  Nodes=ALL Default=YES DefaultTime=00:30:00 MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
PartitionName=short Nodes=ALL DefaultTime=00:02:00 MaxTime=00:05:00 State=UP PriorityTier=10 PreemptMode=OFF
PartitionName=scav  Nodes=ALL DefaultTime=00:30:00 MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=REQUEUE GraceTime=$GRACE_TIME
PartitionName=scavkill Nodes=ALL DefaultTime=00:30:00 MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=CANCEL GraceTime=10
PartitionName=high  Nodes=ALL DefaultTime=00:30:00 MaxTime=INFINITE State=UP PriorityTier=100 PreemptMode=OFF
E
# A test lets it fail on one node.
printf '#!/bin/sh\n[ ! -e "%s/etc/prolog-fails.$SLURMD_NODENAME" ]\n' "$S" >"$S/etc/prolog.sh"
chmod +x "$S/etc/prolog.sh"
rm -f "$S"/etc/prolog-fails.*
if alive slurmctld slurmctld; then
  cmp -s "$S/etc/slurm.conf.new" "$S/etc/slurm.conf" || say "it runs with other settings, which are kept (down.sh first)"
  NODES=$(grep -c ^NodeName= "$S/etc/slurm.conf")
  NODE_PREFIX=$(sed -n 's/^NodeName=\([^ ]*\)1 .*/\1/p' "$S/etc/slurm.conf" | head -n 1)
  rm "$S/etc/slurm.conf.new"
else
  mv "$S/etc/slurm.conf.new" "$S/etc/slurm.conf"
fi
cat >"$S/etc/cgroup.conf" <<E
CgroupPlugin=cgroup/v1
CgroupAutomount=no
ConstrainCores=no
ConstrainRAMSpace=yes
ConstrainSwapSpace=no
E
# The daemon insists that slurmdbd.conf lies beside slurm.conf and has mode 0600.
(
  umask 077
  cat >"$S/etc/slurmdbd.conf" <<E
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$dbd_port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$S/munge/munge.socket.2
PidFile=$S/run/slurmdbd.pid
LogFile=$S/log/slurmdbd.log
DebugLevel=info
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$sql_port
StorageUser=slurm
StoragePass=slurmpw
StorageLoc=slurm_acct_db
E
)
export SLURM_CONF=$S/etc/slurm.conf
echo "export SLURM_CONF=$SLURM_CONF" >"$S/env.sh"

# --- munge
if ! alive munged munged; then
  [ -s "$S/munge/munge.key" ] || (umask 077; head -c 1024 /dev/urandom >"$S/munge/munge.key")
  chmod 600 "$S/munge/munge.key"
  rm -f "$S/munge/munge.socket.2" "$S/munge/munge.socket.2.lock"
  munged --key-file="$S/munge/munge.key" --socket="$S/munge/munge.socket.2" --pid-file="$S/run/munged.pid" \
    --log-file="$S/log/munged.log" --seed-file="$S/munge/munged.seed" --num-threads=8
fi
munge_works() { munge -S "$S/munge/munge.socket.2" -n | unmunge -S "$S/munge/munge.socket.2"; }
wait_for 10 munge_works || die "munged does not answer, see $S/log/munged.log"

# --- MariaDB
sql() { mariadb --no-defaults -uroot -S "$S/run/sql/mysqld.sock" "$@"; }
if ! alive mariadbd mariadbd; then
  if [ ! -d "$S/mysql/mysql" ]; then
    chown mysql:mysql "$S/mysql"
    chmod 700 "$S/mysql"
    mariadb-install-db --no-defaults --user=mysql --datadir="$S/mysql" --auth-root-authentication-method=normal \
      --skip-test-db --skip-name-resolve >"$S/log/mariadb-install.log" 2>&1 ||
      { tail "$S/log/mariadb-install.log" >&2; die "mariadb-install-db"; }
  fi
  install -d -o mysql -g mysql "$S/run/sql"
  touch "$S/log/mariadbd.log"
  chown mysql "$S/log/mariadbd.log"
  ln -sfn sql/mariadbd.pid "$S/run/mariadbd.pid"
  setsid mariadbd --no-defaults --user=mysql --datadir="$S/mysql" --socket="$S/run/sql/mysqld.sock" \
    --pid-file="$S/run/sql/mariadbd.pid" --bind-address=127.0.0.1 --port="$sql_port" --skip-name-resolve \
    --log-error="$S/log/mariadbd.log" --innodb-buffer-pool-size=128M --innodb-log-file-size=64M \
    --innodb-lock-wait-timeout=900 --innodb-flush-log-at-trx-commit=0 --skip-log-bin --max-connections=100 \
    </dev/null >/dev/null 2>&1 &
  wait_for 30 sql -e 'select 1' || { tail "$S/log/mariadbd.log" >&2; die "mariadbd"; }
fi
sql -e "CREATE DATABASE IF NOT EXISTS slurm_acct_db;
        CREATE USER IF NOT EXISTS 'slurm'@'127.0.0.1' IDENTIFIED BY 'slurmpw';
        GRANT ALL ON slurm_acct_db.* TO 'slurm'@'127.0.0.1'; FLUSH PRIVILEGES;"

# --- slurmdbd, the account and the users
alive slurmdbd slurmdbd || slurmdbd
wait_for 40 timeout 5 sacctmgr -n show cluster || { tail "$S/log/slurmdbd.log" >&2; die "slurmdbd"; }
have() { [ -n "$(sacctmgr -n -P show "$@" 2>/dev/null)" ]; }
add() { sacctmgr -i -Q add "$@" >/dev/null 2>&1 || say "could not add $1 $2"; }
have cluster where name=$CLUSTER || add cluster $CLUSTER
have account where name=lab || add account lab Cluster=$CLUSTER Description=lab Organization=lab
have assoc where user=root account=lab || add user root Account=lab Cluster=$CLUSTER AdminLevel=Admin DefaultAccount=lab
have assoc where user="$TEST_USER" account=lab || add user "$TEST_USER" Account=lab Cluster=$CLUSTER DefaultAccount=lab

# --- slurmctld
if ! alive slurmctld slurmctld; then
  preload=
  if [ "$LIMIT_SWEEP" -lt 30 ]; then
    cat >"$S/etc/sweep.c" <<E
/* slurmctld looks for expired limits when difftime(now, last) >= 30: let $LIMIT_SWEEP s count as 30 s. */
#include <time.h>
double difftime(time_t a, time_t b) { double d = (double)a - (double)b; return d >= $LIMIT_SWEEP && d < 30 ? 30 : d; }
E
    if cc -shared -fPIC -O1 -o "$S/etc/sweep.so" "$S/etc/sweep.c" 2>>"$S/log/slurmctld.err"; then
      preload=$S/etc/sweep.so
    else
      say "no C compiler: time limits are looked at every 30 s only"
    fi
  fi
  LD_PRELOAD=$preload slurmctld -i 2>>"$S/log/slurmctld.err" ||
    { tail "$S/log/slurmctld.err" "$S/log/slurmctld.log" >&2; die "slurmctld"; }
fi
wait_for 30 timeout 5 scontrol ping || { tail "$S/log/slurmctld.log" >&2; die "slurmctld"; }

# --- slurmd
for ((i = 1; i <= NODES; i++)); do
  node=$NODE_PREFIX$i
  alive "slurmd-$node" slurmd && continue
  mkdir -p "$S/spool/$node"
  slurmd -N "$node" 2>>"$S/log/slurmd-$node.err" || { tail "$S/log/slurmd-$node.err" >&2; die "slurmd $node"; }
done
nodes_up() {
  [ "$(sinfo -h -N -o '%N %t' -p main | awk '$2=="idle"||$2=="mix"||$2=="alloc"' | sort -u | wc -l)" = "$NODES" ]
}
wait_for 40 nodes_up || { sinfo -N -l >&2; die "not every node came up"; }
say "$(sinfo -V) with $NODES nodes, $(sed -n 's/^ProctrackType=//p' "$S/etc/slurm.conf")"
cat <<E
Use it with:  . $S/env.sh                      as root
              su $TEST_USER -c '. $S/env.sh; sbatch ...'
Logs in $S/log. Stop it with down.sh.
E
