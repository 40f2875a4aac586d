#!/bin/bash
#SBATCH --job-name=counting
#SBATCH --time=4:00:00
#SBATCH --mem=1G
#SBATCH --output=counting-%j.out
# An ordinary batch script: sbatch takes it, and stint takes it as it is.

# The program itself is what TERM must reach: exec leaves no shell that dies of it first.
exec bash count.sh
